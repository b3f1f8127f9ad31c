// Where something is laid over the picture so that it hides least. Pure.

import type { Box, Size } from "./camera";

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Surroundings {
  /** The card that it belongs to. */
  readonly own: Box;
  /** What must stay visible: cards joined to it, and words on its edges. */
  readonly keep: readonly Box[];
  /** Other cards. */
  readonly others: readonly Box[];
  /** Points of its own edges. */
  readonly edges: readonly Point[];
  /** The part of the picture that is in the window. */
  readonly window: Box;
}

/** Distance between a card and what is laid beside it. */
export const GAP = 14;
/** Distance from the rim of the window. */
const RIM = 4;
/** Places along a side that are tried: the ends, the middle, and between them. */
const ALONG = [0, 0.25, 0.5, 0.75, 1];
/** What a place costs: per unit of area that it hides, per point of an edge, per unit of distance. */
const COST = { keep: 50, own: 6, others: 1, outside: 30, edge: 400, distance: 20 };

/** The place of a box of this size: beside its card, where it hides least and is in the window. */
export function placeBeside(size: Size, around: Surroundings): Box {
  const { own, keep, window } = around;
  const xs = places(
    own.x,
    own.width,
    size.width,
    keep.map(({ x, width }) => [x, width] as const),
  );
  const ys = places(
    own.y,
    own.height,
    size.height,
    keep.map(({ y, height }) => [y, height] as const),
  );
  const seen = { ...around, others: around.others.filter((box) => overlap(box, window) > 0) };
  let best: Box = { ...size, x: own.x, y: own.y };
  let least = Number.POSITIVE_INFINITY;
  for (const x of inside(xs, window.x, window.width, size.width)) {
    for (const y of inside(ys, window.y, window.height, size.height)) {
      const box = { ...size, x, y };
      const cost = costOf(box, seen);
      if (cost < least) [best, least] = [box, cost];
    }
  }
  return best;
}

/** Where a length can begin along one axis: after and before the card, along it, and next to what
    must stay visible. In this order where all is equal. */
function places(
  start: number,
  room: number,
  length: number,
  keep: readonly (readonly [number, number])[],
): number[] {
  return [
    start + room + GAP,
    start - length - GAP,
    ...ALONG.map((part) => start + part * (room - length)),
    ...keep.flatMap(([at, size]) => [at + size + GAP, at - length - GAP]),
  ];
}

/** The places, each moved into the window. */
function inside(at: readonly number[], low: number, room: number, length: number): Set<number> {
  const last = Math.max(low + RIM, low + room - length - RIM);
  return new Set(at.map((place) => Math.max(low + RIM, Math.min(place, last))));
}

function costOf(box: Box, { own, keep, others, edges, window }: Surroundings): number {
  const hidden = (boxes: readonly Box[]) =>
    boxes.reduce((sum, other) => sum + overlap(box, other), 0);
  const outside = box.width * box.height - overlap(box, window);
  const points = edges.filter((point) => holds(box, point)).length;
  return (
    COST.keep * hidden(keep) +
    COST.own * hidden([own]) +
    COST.others * hidden(others) +
    COST.outside * outside +
    COST.edge * points +
    COST.distance * distance(box, own)
  );
}

/** How far apart two boxes are. */
function distance(one: Box, other: Box): number {
  const dx = Math.max(one.x - other.x - other.width, other.x - one.x - one.width, 0);
  const dy = Math.max(one.y - other.y - other.height, other.y - one.y - one.height, 0);
  return Math.hypot(dx, dy);
}

function overlap(one: Box, other: Box): number {
  const width = Math.min(one.x + one.width, other.x + other.width) - Math.max(one.x, other.x);
  const height = Math.min(one.y + one.height, other.y + other.height) - Math.max(one.y, other.y);
  return width > 0 && height > 0 ? width * height : 0;
}

function holds({ x, y, width, height }: Box, point: Point): boolean {
  return point.x >= x && point.x <= x + width && point.y >= y && point.y <= y + height;
}
