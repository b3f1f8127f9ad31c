// One picture out of the insides of folds that were laid out alone: where a box is opened, what is
// around it makes room, and nothing else moves. Pure. The same algorithm as
// gradviz/view/graph/composition.py; tests/golden/composition binds both.

import type { Direction, Inside, InsideCard, InsideLink, Insides, Pair } from "../documents/folds";
import type { Unfolding } from "../model/folds";
import { cut, type Piece, split } from "./bezier";
import type { Box, Size } from "./camera";
import { Stretch } from "./stretch";

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

/** Where a box or a frame is; of "" the whole picture. */
export function boxIn({ parts, width, height }: Composition, id: string): Box | undefined {
  if (id === "") return { x: 0, y: 0, width, height };
  return parts.find((part): part is PlacedCard | Frame => part.kind !== "link" && part.id === id);
}

/** The one box whose opening or closing made the difference, "" where there is none; undefined where
    there are several. */
export function changedIn(before: Unfolding, { folds, opened }: Unfolding): string | undefined {
  const changed = [
    ...[...opened].filter((id) => !before.opened.has(id)),
    ...[...before.opened].filter((id) => !opened.has(id)),
  ];
  if (!changed.length) return "";
  return changed.find((outer) => changed.every((id) => folds.isWithin(id, outer)));
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
  const wide = open.map(({ id, x, width }) => [x, x + width, need(id).width] as const);
  const high = open.map(({ id, y, height }) => [y, y + height, need(id).height] as const);
  const [across, down] = [new Stretch(inside.width, wide), new Stretch(inside.height, high)];
  const boxes = new Map<string, { readonly card: InsideCard; readonly box: Box }>();
  for (const card of inside.cards) {
    const size = children.has(card.id) ? need(card.id) : card;
    const [x, y] = [
      across.middle(card.x, card.width, children.has(card.id)) - size.width / 2,
      down.middle(card.y, card.height, children.has(card.id)) - size.height / 2,
    ];
    const box = { x, y, width: size.width, height: size.height };
    boxes.set(card.id, { card, box });
  }
  const along = direction === "TB" ? across : down;
  const rim: Rim = {
    size: { width: across.at(inside.width), height: down.at(inside.height) },
    inputs: inside.inputs.map((place) => along.at(place)),
    outputs: inside.outputs.map((place) => along.at(place)),
  };
  const parts: Part[] = inside.links.map((link) => {
    const points = mapped(link.points, across, down);
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
      const { inputs, outputs, width, height } = child as Composition;
      const [x, y] = portOf({ size: { width, height }, inputs, outputs }, port, way, direction);
      // Above its inside is the header: what comes from above ends at its upper edge.
      const below = direction === "TB" && at === "head" ? 0 : HEADER;
      return [held.box.x + x, held.box.y + y + below] as const;
    };
    const isEnd = (id: string) => id !== "" && !children.has(id);
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

/** A port on the rim of a box at (0, 0). */
function portOf(rim: Rim, port: number, way: "in" | "out", direction: Direction): Pair {
  const { width, height } = rim.size;
  const places = way === "in" ? rim.inputs : rim.outputs;
  const along = places[port] ?? places.at(-1) ?? (direction === "TB" ? width : height) / 2;
  if (direction === "TB") return [along, way === "in" ? 0 : height];
  return [way === "in" ? 0 : width, along];
}

/** The control points of a curve where everything is stretched. It is cut where the stretch changes,
    so that it stays on the side of everything that it was on. */
function mapped(points: readonly Pair[], across: Stretch, down: Stretch): Pair[] {
  let pieces: Piece[] = [];
  for (let i = 0; i + 3 < points.length; i += 3) {
    pieces.push(points.slice(i, i + 4) as unknown as Piece);
  }
  for (const [axis, stretch] of [across, down].entries()) {
    for (const place of stretch.inner) {
      pieces = pieces.flatMap((piece) => cut(piece, axis as 0 | 1, place));
    }
  }
  return pieces.flatMap((piece, i) => {
    const [x, y] = split(piece, 0.5)[0][3];
    const image = piece.map((point): Pair => [across.at(point[0], x), down.at(point[1], y)]);
    return i ? image.slice(1) : image;
  });
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
