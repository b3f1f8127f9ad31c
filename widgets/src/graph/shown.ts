// What the graph panel shows: a document in one density, put together where it is folded. Pure.

import type { Density, Item } from "../documents/graph";
import type { AnyDocument } from "../documents/parse";
import { svgOf } from "../documents/pictures";
import { isRecording } from "../documents/recording";
import { isReport } from "../documents/report";
import { SVG } from "../lib/dom";
import type { Unfolding } from "../model/folds";
import { countWords, isBox } from "../model/search";
import type { Timeline } from "../model/timeline";
import type { Box } from "./camera";
import { aroundOf, type Look, svgOfComposition } from "./composed_svg";
import { boxIn, type Composition, changedIn } from "./composition";

/** What is drawn now. */
export interface Shown {
  readonly wire: AnyDocument;
  readonly density: Density;
  /** Absent where nothing is folded. */
  readonly unfolding: Unfolding | undefined;
  readonly composition: Composition | undefined;
}

/** The looks of the elements at a step of a recording; undefined where there are no steps. */
export function looksAt(
  wire: AnyDocument,
  density: Density,
  timeline: Timeline | undefined,
  at: number,
): Look | undefined {
  if (!timeline || !isRecording(wire)) return undefined;
  const variants = timeline.state(at).at.get(density);
  return (key) => {
    const variant = variants?.get(key);
    return variant === undefined ? "" : timeline.look(density, key, variant);
  };
}

/** A report without a graph shows its figures elsewhere. */
export function textOf({ wire, density, unfolding, composition }: Shown, look?: Look): string {
  if (isReport(wire) && !wire.picture) return `<svg xmlns="${SVG}"/>`;
  if (!unfolding || !composition) return svgOf(wire, density);
  const { folds } = unfolding;
  const insides = folds.insides(density);
  return svgOfComposition(aroundOf(wire, density), composition, folds, insides, look);
}

/** The box that was opened or closed, before and after: what must stay where it is on the screen. */
export function heldIn(before: Shown | undefined, after: Shown): readonly [Box, Box] | undefined {
  if (!before?.unfolding || !after.unfolding || before.density !== after.density) return undefined;
  if (before.unfolding.root !== after.unfolding.root) return undefined;
  const changed = changedIn(before.unfolding, after.unfolding);
  if (changed === undefined) return undefined;
  const boxes = [before, after].map(
    ({ composition }) => composition && boxIn(composition, changed),
  );
  return boxes[0] && boxes[1] && [boxes[0], boxes[1]];
}

/** How many of these are in each closed box, in words: boxes apart. */
export function countsOf(
  items: readonly Item[],
  unfolding: Unfolding,
): ReadonlyMap<string, string> {
  const counts = new Map<string, { readonly nodes: number; readonly boxes: number }>();
  for (const item of items) {
    const box = unfolding.folds.shownFor(item.id, unfolding);
    if (!box || box === item.id) continue;
    const { nodes, boxes } = counts.get(box) ?? { nodes: 0, boxes: 0 };
    const own = isBox(item);
    counts.set(box, { nodes: nodes + Number(!own), boxes: boxes + Number(own) });
  }
  return new Map(
    [...counts].map(([box, { nodes, boxes }]) => [box, countWords(nodes, boxes)] as const),
  );
}
