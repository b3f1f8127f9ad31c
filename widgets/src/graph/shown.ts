// What the graph panel shows: a document in one density, put together where it is folded. Pure.

import type { Density } from "../documents/graph";
import type { AnyDocument } from "../documents/parse";
import { svgOf } from "../documents/pictures";
import { isReport } from "../documents/report";
import { SVG } from "../lib/dom";
import type { Unfolding } from "../model/folds";
import type { Box } from "./camera";
import { aroundOf, svgOfComposition } from "./composed_svg";
import { boxIn, type Composition, changedIn } from "./composition";

/** What is drawn now. */
export interface Shown {
  readonly wire: AnyDocument;
  readonly density: Density;
  /** Absent where nothing is folded. */
  readonly unfolding: Unfolding | undefined;
  readonly composition: Composition | undefined;
}

/** A report without a graph shows its figures elsewhere. */
export function textOf({ wire, density, unfolding, composition }: Shown): string {
  if (isReport(wire) && !wire.picture) return `<svg xmlns="${SVG}"/>`;
  if (!unfolding || !composition) return svgOf(wire, density);
  const { folds } = unfolding;
  return svgOfComposition(aroundOf(wire, density), composition, folds, folds.insides(density));
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

/** How many of these are in each closed box. */
export function countsOf(
  ids: readonly string[],
  unfolding: Unfolding,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const id of ids) {
    const box = unfolding.folds.shownFor(id, unfolding);
    if (box && box !== id) counts.set(box, (counts.get(box) ?? 0) + 1);
  }
  return counts;
}
