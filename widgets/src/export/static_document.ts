// The picture of one step of a recording as SVG text, to be saved or copied.

import type { BaseDocument } from "../documents/graph";
import { SVG } from "../lib/dom";
import type { Timeline } from "../model/timeline";

/** A graph as it is; of a recording what it is at a step, named after the step. */
export function documentAt(
  wire: BaseDocument,
  timeline: Timeline | undefined,
  at: number,
): BaseDocument {
  if (!timeline) return wire;
  return { ...wire, title: `${wire.title} step ${at}`, svg: svgAt(timeline, at) };
}

function svgAt(timeline: Timeline, index: number): string {
  const { svg, elements } = timeline.recording;
  const picture = new DOMParser().parseFromString(svg, "image/svg+xml");
  picture.documentElement.setAttribute("aria-label", timeline.view(index).summary);
  for (const [key, variant] of timeline.state(index).at) {
    const text = elements[key]?.[variant] || `<g id="${key}" class="gv-absent"/>`;
    const part = new DOMParser().parseFromString(`<svg xmlns="${SVG}">${text}</svg>`, "text/xml");
    const made = part.documentElement.firstElementChild;
    if (made) picture.getElementById(key)?.replaceWith(picture.importNode(made, true));
  }
  return `${new XMLSerializer().serializeToString(picture)}\n`;
}
