// The picture of one moment as SVG text, to be saved or copied.

import type { BaseDocument, Density } from "../documents/graph";
import type { AnyDocument } from "../documents/parse";
import { stillOf } from "../documents/pictures";
import { compositionOf } from "../graph/composed_svg";
import { looksAt, textOf } from "../graph/shown";
import { SVG } from "../lib/dom";
import type { Unfolding } from "../model/folds";
import type { Timeline } from "../model/timeline";

/** A document of one moment, with one picture. */
export interface StaticDocument extends BaseDocument {
  readonly svg: string;
}

/** A graph as it is, folded as it is seen; of a recording what it is at a step, named after the step. */
export function documentAt(
  wire: AnyDocument,
  timeline: Timeline | undefined,
  at: number,
  density: Density,
  unfolding?: Unfolding,
): StaticDocument {
  const look = looksAt(wire, density, timeline, at);
  const composition = unfolding && compositionOf(unfolding, density);
  const drawn = { wire, density, unfolding, composition };
  const svg = unfolding ? textOf(drawn, look) : stillOf(wire, density);
  if (!timeline) return { ...wire, svg };
  return {
    ...wire,
    title: `${wire.title} step ${timeline.nameOf(at)}`,
    svg: unfolding ? svg : svgAt(timeline, at, density, svg),
  };
}

function svgAt(timeline: Timeline, index: number, density: Density, svg: string): string {
  const picture = new DOMParser().parseFromString(svg, "image/svg+xml");
  picture.documentElement.setAttribute("aria-label", timeline.view(index).summary);
  for (const [key, variant] of timeline.state(index).at.get(density) ?? []) {
    const look = timeline.look(density, key, variant);
    const text = look || `<g id="${key}" class="gv-absent"/>`;
    const part = new DOMParser().parseFromString(`<svg xmlns="${SVG}">${text}</svg>`, "text/xml");
    const made = part.documentElement.firstElementChild;
    if (made) picture.getElementById(key)?.replaceWith(picture.importNode(made, true));
  }
  return `${new XMLSerializer().serializeToString(picture)}\n`;
}
