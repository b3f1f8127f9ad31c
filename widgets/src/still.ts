// The picture of one step of a recording as SVG text, to be saved or copied.
import { SVG } from "./dom";
import type { Timeline } from "./timeline";
import type { Document } from "./wire";

/** A graph as it is; of a recording what it is at a step, named after the step. */
export function documentAt(wire: Document, timeline: Timeline | undefined, at: number): Document {
  if (!timeline) return wire;
  return { ...wire, title: `${wire.title} step ${at}`, svg: svgAt(timeline, at) };
}

export function svgAt(timeline: Timeline, index: number): string {
  const { svg, elements } = timeline.wire;
  const picture = new DOMParser().parseFromString(svg, "image/svg+xml");
  picture.documentElement.setAttribute("aria-label", timeline.view(index).summary);
  for (const [key, variant] of timeline.moment(index).at) {
    const text = elements[key]?.[variant] || `<g id="${key}" class="gv-absent"/>`;
    const part = new DOMParser().parseFromString(`<svg xmlns="${SVG}">${text}</svg>`, "text/xml");
    const made = part.documentElement.firstElementChild;
    if (made) picture.getElementById(key)?.replaceWith(picture.importNode(made, true));
  }
  return `${new XMLSerializer().serializeToString(picture)}\n`;
}
