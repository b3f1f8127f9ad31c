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
/** Distance from the rim of the window, and from what must stay visible. */
const RIM = 4;
/** Places along a side that are tried: the ends, the middle, and between them. */
const ALONG = [0, 0.25, 0.5, 0.75, 1];
/** Points on each side of a box from which a line can begin. */
const STOPS = 15;
/** What a place costs: per unit of area that it hides, per point of an edge, per unit of distance.
    To be near is worth little: a line leads from it to its card. */
const COST = { keep: 50, own: 12, others: 1, outside: 30, edge: 400, distance: 4 };

/** The place of a box of this size: beside its card, where it hides least and is in the window. */
export function placeBeside(size: Size, around: Surroundings): Box {
  const { own, keep, edges, window } = around;
  const beside = [...keep, ...(edges.length ? [hull(edges)] : [])];
  const xs = places(
    own.x,
    own.width,
    size.width,
    [window.x, window.width],
    beside.map(({ x, width }) => [x, width] as const),
  );
  const ys = places(
    own.y,
    own.height,
    size.height,
    [window.y, window.height],
    beside.map(({ y, height }) => [y, height] as const),
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

/** Where a length can begin along one axis: after and before the card, along it, next to what must
    stay visible, and along the window. In this order where all is equal. */
function places(
  start: number,
  room: number,
  length: number,
  [low, most]: readonly [number, number],
  keep: readonly (readonly [number, number])[],
): number[] {
  return [
    start + room + GAP,
    start - length - GAP,
    ...ALONG.map((part) => start + part * (room - length)),
    ...keep.flatMap(([at, size]) => [at + size + RIM, at - length - RIM]),
    ...ALONG.map((part) => low + part * (most - length)),
  ];
}

/** The smallest box around points. */
function hull(points: readonly Point[]): Box {
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

/** A line from one box to another that passes through as few others as can be, of those the shortest;
    undefined where the boxes touch. */
export function lineBetween(
  one: Box,
  other: Box,
  others: readonly Box[],
): readonly [Point, Point] | undefined {
  if (distance(one, other) === 0) return undefined;
  let best: readonly [Point, Point] | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const from of rim(one)) {
    for (const to of rim(other)) {
      const through = others.filter((box) => crosses(from, to, box)).length;
      const ends = Number(crosses(from, to, one)) + Number(crosses(from, to, other));
      const cost = 1e6 * ends + 1e4 * through + Math.hypot(to.x - from.x, to.y - from.y);
      if (cost < least) [best, least] = [[from, to], cost];
    }
  }
  return best;
}

/** Points on the rim of a box. */
function rim({ x, y, width, height }: Box): Point[] {
  const parts = Array.from({ length: STOPS }, (_, i) => (i + 1) / (STOPS + 1));
  return [
    ...parts.flatMap((part) => [y, y + height].map((at) => ({ x: x + part * width, y: at }))),
    ...parts.flatMap((part) => [x, x + width].map((at) => ({ x: at, y: y + part * height }))),
  ];
}

/** Whether a line passes through the inside of a box (Liang and Barsky). */
function crosses(from: Point, to: Point, { x, y, width, height }: Box): boolean {
  let [start, end] = [0, 1];
  for (const [at, by, low, high] of [
    [from.x, to.x - from.x, x, x + width],
    [from.y, to.y - from.y, y, y + height],
  ] as const) {
    if (by === 0) {
      if (at <= low || at >= high) return false;
      continue;
    }
    const [first, last] = [(low - at) / by, (high - at) / by];
    start = Math.max(start, Math.min(first, last));
    end = Math.min(end, Math.max(first, last));
  }
  return end - start > 1e-9;
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
    COST.distance * Math.max(GAP, distance(box, own))
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
