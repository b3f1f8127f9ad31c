// Curves of four control points, cut in two by de Casteljau's algorithm. Pure.

import type { Pair } from "../documents/folds";

export type Piece = readonly [Pair, Pair, Pair, Pair];

/** Bisections after which a cut is at its place, far below a pixel. */
const HALVINGS = 30;

/** A curve in two where it goes from one side of a place to the other, else as it is. `axis` is 0 if
    the place is an x, 1 if it is a y. */
export function cut(piece: Piece, axis: 0 | 1, place: number): readonly Piece[] {
  const [start, end] = [piece[0][axis] - place, piece[3][axis] - place];
  if (start * end >= 0) return [piece];
  let [low, high] = [0, 1];
  for (let i = 0; i < HALVINGS; i += 1) {
    const share = (low + high) / 2;
    if ((split(piece, share)[0][3][axis] - place) * start > 0) low = share;
    else high = share;
  }
  return split(piece, (low + high) / 2);
}

/** The two parts of a curve. */
export function split([a, b, c, d]: Piece, share: number): readonly [Piece, Piece] {
  const between = (one: Pair, other: Pair): Pair => [
    one[0] + share * (other[0] - one[0]),
    one[1] + share * (other[1] - one[1]),
  ];
  const [ab, bc, cd] = [between(a, b), between(b, c), between(c, d)];
  const [abc, bcd] = [between(ab, bc), between(bc, cd)];
  const at = between(abc, bcd);
  return [
    [a, ab, abc, at],
    [at, bcd, cd, d],
  ];
}
