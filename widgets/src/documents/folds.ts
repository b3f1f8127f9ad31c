// How a graph is folded into boxes: gradviz/view/documents writes it, graph/composition.ts puts the
// picture together.

import type { ByDensity } from "./graph";
import { type Check, listOf, mapOf, oneOf, orNull, recordOf, text, whole } from "./validators";

export type Direction = "TB" | "LR";
export type Pair = readonly [number, number];

/** A box that stands for many nodes. */
export interface Fold {
  /** "f0" is the whole graph. */
  readonly id: string;
  /** The fold that it is a member of, "" for the whole graph. */
  readonly above: string;
  readonly kind: string;
  /** Path of the module that made all of it, "" if none is known. */
  readonly path: string;
  readonly label: string;
  readonly words: readonly string[];
  /** How many nodes are in it, leaves included. */
  readonly nodes: number;
  readonly members: number;
  /** Whether the document has its inside. */
  readonly has_inside: boolean;
}

/** A member of a fold as it is drawn: a node, or a closed box. */
export interface InsideCard {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** SVG text, its box at (0, 0). */
  readonly markup: string;
}

/** Card ("" for the rim of the inside) and number of the port. */
export type LinkEnd = readonly [card: string, port: number];

export interface InsideLink {
  /** The places where it turns, from tail to head, with its ends: four or more. */
  readonly points: readonly Pair[];
  readonly tail: LinkEnd;
  readonly head: LinkEnd;
  /** How far it goes on inside the boxes at its ends. */
  readonly tail_reach: Pair;
  readonly head_reach: Pair;
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly slot: number | null;
  /** How many entries of next_functions it is. */
  readonly count: number;
  readonly is_edge: boolean;
}

/** The members of a fold, laid out alone. */
export interface Inside {
  readonly width: number;
  readonly height: number;
  readonly cards: readonly InsideCard[];
  readonly links: readonly InsideLink[];
  /** Places along the rim where values come in and go out, one per port of the closed box. */
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
  /** SVG text of what stands in the header of its frame, the corner at (0, 0). */
  readonly header: string;
}

/** By the id of the fold; "" is a picture of the closed box of the whole graph. */
export type Insides = Readonly<Record<string, Inside>>;

export interface Folding {
  /** Ids that are open at first. */
  readonly opened: readonly string[];
  /** Of a recording the steps from which on other folds are open beside these, since they run; in
   * order. */
  readonly current?: readonly (readonly [step: number, folds: readonly string[]])[];
  readonly direction: Direction;
  readonly folds: readonly Fold[];
  readonly insides: ByDensity<Insides>;
  /** What it says where an inside is not here; "" where all are. */
  readonly limit: string;
  /** How it comes that it is folded so, if that is not clear; else "". */
  readonly note: string;
}

const number: Check = (value) => typeof value === "number" && Number.isFinite(value);
const flag: Check = (value) => typeof value === "boolean";
const numbers: Check = (value) =>
  listOf(number)(value) && (value as readonly unknown[]).length === 2;
const end: Check = (value) =>
  Array.isArray(value) && value.length === 2 && text(value[0]) && whole(value[1]);

export const fold: Check = recordOf({
  id: text,
  above: text,
  kind: text,
  path: text,
  label: text,
  words: listOf(text),
  nodes: whole,
  members: whole,
  has_inside: flag,
});

const current: Check = (value) =>
  Array.isArray(value) && value.length === 2 && whole(value[0]) && listOf(text)(value[1]);

const inside = recordOf({
  width: number,
  height: number,
  cards: listOf(
    recordOf({ id: text, x: number, y: number, width: number, height: number, markup: text }),
  ),
  links: listOf(
    recordOf({
      points: (value) => listOf(numbers)(value) && (value as readonly unknown[]).length >= 4,
      tail: end,
      head: end,
      tail_reach: numbers,
      head_reach: numbers,
      id: text,
      source: text,
      target: text,
      slot: orNull(whole),
      count: whole,
      is_edge: flag,
    }),
  ),
  inputs: listOf(number),
  outputs: listOf(number),
  header: text,
});

export const insides: Check = mapOf(inside);

/** `byDensity` is the check of graph.ts, which imports this. */
export const foldingOf = (byDensity: (check: Check) => Check): Check =>
  recordOf({
    opened: listOf(text),
    current: (value) => value === undefined || listOf(current)(value),
    direction: oneOf(["TB", "LR"]),
    folds: listOf(fold),
    insides: byDensity(insides),
    limit: text,
    note: text,
  });
