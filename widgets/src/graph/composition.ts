// One picture out of the insides of folds that were laid out alone: where a box is opened, what is
// around it makes room, and nothing else moves. Pure. The same algorithm as
// gradviz/view/graph/composition.py; tests/golden/composition binds both.

import type { Direction, Inside, InsideCard, InsideLink, Insides, Pair } from "../documents/folds";
import type { Box, Size } from "./camera";

/** Height of the line with the name of an opened fold, above its inside. */
export const HEADER = 30;

export interface PlacedCard extends Box {
  readonly kind: "card";
  readonly id: string;
  readonly markup: string;
}

export interface Frame extends Box {
  readonly kind: "frame";
  readonly id: string;
  /** How many folds it is inside of. */
  readonly level: number;
}

export interface PlacedLink {
  readonly kind: "link";
  /** The fold that it is drawn in. */
  readonly fold: string;
  readonly link: InsideLink;
  readonly points: readonly Pair[];
  /** Whether it really begins, and ends, there: not at an opened box, which it goes on in. */
  readonly begins: boolean;
  readonly ends: boolean;
}

export type Part = PlacedCard | Frame | PlacedLink;

export interface Composition extends Size {
  /** In the order of drawing. */
  readonly parts: readonly Part[];
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

/** The picture of one fold with everything in it that is opened; nothing where its inside is not
    known. */
export function compose(
  insides: Insides,
  opened: ReadonlySet<string>,
  direction: Direction,
  root: string,
): Composition {
  const empty = { width: 1, height: 1, parts: [], inputs: [], outputs: [] };
  const level = (fold: string, depth: number): Composition => {
    const inside = insides[fold];
    if (!inside) return empty;
    const children = new Map<string, Composition>();
    for (const { id } of inside.cards) {
      if (opened.has(id) && insides[id]) children.set(id, level(id, depth + 1));
    }
    return put(fold, inside, children, direction, depth);
  };
  return level(root, 0);
}

/** One inside with its opened boxes replaced by frames. */
function put(
  fold: string,
  inside: Inside,
  children: ReadonlyMap<string, Composition>,
  direction: Direction,
  depth: number,
): Composition {
  const open = inside.cards.filter(({ id }) => children.has(id));
  const need = (id: string): Size => {
    const { width, height } = children.get(id) as Composition;
    return { width, height: height + HEADER };
  };
  const across = stretch(
    inside.width,
    open.map(({ id, x, width }) => [x, x + width, need(id).width]),
  );
  const down = stretch(
    inside.height,
    open.map(({ id, y, height }) => [y, y + height, need(id).height]),
  );
  const boxes = new Map<string, { readonly card: InsideCard; readonly box: Box }>();
  for (const card of inside.cards) {
    const size = children.has(card.id) ? need(card.id) : card;
    const [x, y] = [
      middle(across, card.x, card.width, children.has(card.id)) - size.width / 2,
      middle(down, card.y, card.height, children.has(card.id)) - size.height / 2,
    ];
    const box = { x, y, width: size.width, height: size.height };
    boxes.set(card.id, { card, box });
  }
  const rim: Rim = {
    size: { width: across(inside.width), height: down(inside.height) },
    inputs: inside.inputs.map(direction === "TB" ? across : down),
    outputs: inside.outputs.map(direction === "TB" ? across : down),
  };
  const parts: Part[] = inside.links.map((link) => {
    const points = link.points.map(([x, y]) => [across(x), down(y)] as const);
    const end = (at: "tail" | "head") => {
      const [id, port] = link[at];
      const held = boxes.get(id);
      const child = children.get(id);
      const way = at === "tail" ? "out" : "in";
      if (held && !child) {
        const [x, y] = link.points.at(at === "tail" ? 0 : -1) as Pair;
        return [held.box.x + x - held.card.x, held.box.y + y - held.card.y] as const;
      }
      // At the rim of this inside values come in where those of a box go out.
      if (!held) return portOf(rim, port, at === "tail" ? "in" : "out", direction);
      const [x, y] = portOf(rimOf(held.box, child as Composition), port, way, direction);
      const below = direction === "LR" ? HEADER : 0;
      return [held.box.x + x, held.box.y + y + below] as const;
    };
    const isEnd = (id: string) => (id === "" ? depth === 0 : !children.has(id));
    return {
      kind: "link",
      fold,
      link,
      points: pinned(points, end("tail"), end("head")),
      begins: isEnd(link.tail[0]),
      ends: isEnd(link.head[0]),
    };
  });
  for (const { id, markup } of inside.cards) {
    const { box } = boxes.get(id) as { box: Box };
    const child = children.get(id);
    if (!child) {
      parts.push({ kind: "card", id, markup, ...box });
      continue;
    }
    parts.push({ kind: "frame", id, level: depth + 1, ...box });
    for (const part of child.parts) parts.push(moved(part, box.x, box.y + HEADER));
  }
  return { ...rim.size, parts, inputs: rim.inputs, outputs: rim.outputs };
}

interface Rim {
  readonly size: Size;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

/** The rim of a frame, which is as long as that of its inside. */
function rimOf(frame: Size, { width, height, inputs, outputs }: Composition): Rim {
  const size = { width: Math.max(frame.width, width), height: Math.max(frame.height, height) };
  return { size, inputs, outputs };
}

/** A port on the rim of a box at (0, 0). */
function portOf(rim: Rim, port: number, way: "in" | "out", direction: Direction): Pair {
  const { width, height } = rim.size;
  const places = way === "in" ? rim.inputs : rim.outputs;
  const along = places[port] ?? places.at(-1) ?? (direction === "TB" ? width : height) / 2;
  if (direction === "TB") return [along, way === "in" ? 0 : height];
  return [way === "in" ? 0 : width, along];
}

/** A piecewise linear map of one axis on which each interval has the room that it needs, and no two
    places come nearer to each other. */
function stretch(
  size: number,
  intervals: readonly (readonly [start: number, end: number, needed: number])[],
): (place: number) => number {
  const stops = [...new Set([0, size, ...intervals.flatMap(([start, end]) => [start, end])])];
  stops.sort((one, other) => one - other);
  const at = new Map<number, number>();
  for (const [i, stop] of stops.entries()) {
    const before = stops[i - 1];
    let place = before === undefined ? stop : (at.get(before) as number) + stop - before;
    for (const [start, end, needed] of intervals) {
      if (end === stop) place = Math.max(place, (at.get(start) as number) + needed);
    }
    at.set(stop, place);
  }
  const places = stops.map((stop) => at.get(stop) as number);
  return (place) => {
    let next = stops.findIndex((stop) => stop >= place);
    if (next < 0) next = stops.length - 1;
    const [low, high] = [stops[next - 1], stops[next]] as [number | undefined, number];
    const [from, to] = [places[next - 1], places[next]] as [number | undefined, number];
    if (low === undefined || from === undefined || place > high) return to + place - high;
    return from + ((place - low) / (high - low)) * (to - from);
  };
}

/** Where the middle of a card is: that of its stretched room, or of itself. */
function middle(
  map: (place: number) => number,
  start: number,
  size: number,
  isOpen: boolean,
): number {
  return isOpen ? (map(start) + map(start + size)) / 2 : map(start + size / 2);
}

/** The control points with both ends put where they belong; those next to them move along. */
function pinned(points: readonly Pair[], tail: Pair, head: Pair): readonly Pair[] {
  const [first, last] = [points[0], points.at(-1)] as [Pair, Pair];
  const [start, stop] = [by(first, tail), by(last, head)];
  return points.map(([x, y], i) => {
    if (i === 0) return tail;
    if (i === points.length - 1) return head;
    const [dx, dy] = i === 1 ? start : i === points.length - 2 ? stop : [0, 0];
    return [x + dx, y + dy];
  });
}

const by = (from: Pair, to: Pair): Pair => [to[0] - from[0], to[1] - from[1]];

function moved(part: Part, dx: number, dy: number): Part {
  if (part.kind !== "link") return { ...part, x: part.x + dx, y: part.y + dy };
  return { ...part, points: part.points.map(([x, y]) => [x + dx, y + dy] as const) };
}
