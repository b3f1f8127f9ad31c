// Fewer open boxes where there is little room, as gradviz/view/graph/drawing.py does for a screen. Pure.

import type { Folds } from "../model/folds";

/** Boxes below which nothing is closed so that a picture fits. */
const FEW = 4;

/** The folds that the document opens with, of which the smallest are closed while the picture is wider
    than there is room. */
export function fitted(
  folds: Folds,
  widthOf: (opened: ReadonlySet<string>) => number,
  room: number,
): ReadonlySet<string> {
  let opened = folds.opening;
  while (opened.size > 1 && widthOf(opened) > room) {
    const inner = [...opened].filter((id) => !folds.below(id).some((one) => opened.has(one)));
    const [first = "", ...rest] = inner;
    const nodes = (id: string) => folds.get(id)?.nodes ?? 0;
    const smallest = rest.reduce((one, other) => (nodes(other) < nodes(one) ? other : one), first);
    const closed = new Set([...opened].filter((id) => id !== smallest));
    const boxes = [...closed].reduce((sum, id) => sum + (folds.get(id)?.members ?? 1) - 1, 1);
    if (boxes < FEW) return opened;
    opened = closed;
  }
  return opened;
}
