// One picture out of the insides of folds that were laid out alone: where a box is opened, what is
// around it makes room, and nothing else moves. Pure. The same algorithm as
// gradviz/view/graph/composition.py; tests/golden/composition binds both.

import type {
  Direction,
  Inside,
  InsideCard,
  InsideLink,
  Insides,
  LinkEnd,
  Pair,
} from "../documents/folds";
import type { Unfolding } from "../model/folds";
import type { Box, Size } from "./camera";
import { curve, room } from "./routes";
import { type Need, Stretch } from "./stretch";

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
  /** Bézier control points, 1 + 3 k of them. */
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
  const isDown = direction === "TB";
  const need = ({ id, width, height }: InsideCard): Size => {
    const child = children.get(id);
    return child ? { width: child.width, height: child.height + HEADER } : { width, height };
  };
  const open = inside.cards.filter(({ id }) => children.has(id));
  const wide = open.map((card): Need => [card.x, card.x + card.width, need(card).width]);
  const high = open.map((card): Need => [card.y, card.y + card.height, need(card).height]);
  const cards = new Map(inside.cards.map((card) => [card.id, card]));
  const sizeAcross = isDown ? inside.width : inside.height;
  const across = new Stretch(sizeAcross, isDown ? wide : high);
  const inputs = inside.inputs.map((place) => across.at(place));
  const outputs = inside.outputs.map((place) => across.at(place));
  /** Where a box begins on one axis. */
  const startOf = (card: InsideCard, axis: "x" | "y", stretch: Stretch): number => {
    const length = axis === "x" ? "width" : "height";
    const middle = stretch.middle(card[axis], card[length], children.has(card.id));
    return middle - need(card)[length] / 2;
  };
  /** How far across the flow a link ends. */
  const sideOf = ([id, port]: LinkEnd, at: Pair, isHead: boolean): number => {
    const card = cards.get(id);
    // At the rim of this inside values come in where those of a box go out.
    if (!card) return portIn(isHead ? outputs : inputs, port, across.at(sizeAcross) / 2);
    const axis = isDown ? "x" : "y";
    const start = startOf(card, axis, across);
    const child = children.get(id);
    if (!child) return start + at[isDown ? 0 : 1] - card[axis];
    const middle = (isDown ? child.width : child.height) / 2;
    return (
      start + portIn(isHead ? child.inputs : child.outputs, port, middle) + (isDown ? 0 : HEADER)
    );
  };
  const turned = ([x, y]: Pair): Pair => (isDown ? [x, y] : [y, x]);
  // A place on the rim right before or after the port of a box stays there.
  for (const { points, tail, head } of inside.links.toReversed()) {
    const [first, last] = [points[0] as Pair, points.at(-1) as Pair];
    if (Math.abs(turned(first)[0] - turned(last)[0]) >= 1) continue;
    if (!tail[0] && head[0]) inputs[tail[1]] = sideOf(head, last, true);
    else if (!head[0] && tail[0]) outputs[head[1]] = sideOf(tail, first, false);
  }
  // Across the flow as it is now, along it as it was. Within the row of a box its link goes straight
  // from its port, or to it.
  const ways = inside.links.map(({ points, tail, head }) => {
    const last = points.length - 1;
    const from = sideOf(tail, points[0] as Pair, false);
    const to = sideOf(head, points[last] as Pair, true);
    return points.map((point, i): Pair => {
      const [side, along] = turned(point);
      return [i < 2 ? from : i > last - 2 ? to : across.at(side), along];
    });
  });
  const sizeAlong = isDown ? inside.height : inside.width;
  const along = new Stretch(sizeAlong, [...(isDown ? high : wide), ...room(ways)]);
  const length = along.at(sizeAlong);
  /** How far along the flow a link ends. */
  const endOf = ([id]: LinkEnd, isHead: boolean): number => {
    const card = cards.get(id);
    if (!card) return isHead ? length : 0;
    const size = isHead ? 0 : need(card)[isDown ? "height" : "width"];
    return startOf(card, isDown ? "y" : "x", along) + size;
  };
  const isEnd = (id: string) => id !== "" && !children.has(id);
  const parts: Part[] = inside.links.map((link, i) => {
    const way = ways[i] as Pair[];
    const last = way.length - 1;
    const turns = way.map(([side, at], j): Pair => {
      if (j === 0) return turned([side, endOf(link.tail, false)]);
      return turned([side, j === last ? endOf(link.head, true) : along.at(at)]);
    });
    const ends = { begins: isEnd(link.tail[0]), ends: isEnd(link.head[0]) };
    return { kind: "link", fold, link, points: curve(turns, direction), ...ends };
  });
  for (const card of inside.cards) {
    const { id, markup } = card;
    const [x, y] = [
      startOf(card, "x", isDown ? across : along),
      startOf(card, "y", isDown ? along : across),
    ];
    const box = { x, y, ...need(card) };
    const child = children.get(id);
    if (!child) {
      parts.push({ kind: "card", id, markup, ...box });
      continue;
    }
    parts.push({ kind: "frame", id, level: depth + 1, ...box });
    for (const part of child.parts) parts.push(moved(part, x, y + HEADER));
  }
  const [width, height] = turned([across.at(sizeAcross), length]);
  return { width, height, parts, inputs, outputs };
}

/** A port along a rim: one that is not there is the last; none at all the middle of the side. */
function portIn(places: readonly number[], port: number, middle: number): number {
  return places[port] ?? places.at(-1) ?? middle;
}

function moved(part: Part, dx: number, dy: number): Part {
  if (part.kind !== "link") return { ...part, x: part.x + dx, y: part.y + dy };
  return { ...part, points: part.points.map(([x, y]) => [x + dx, y + dy] as const) };
}
