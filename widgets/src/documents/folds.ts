// How a graph is folded into boxes: gradviz/view/documents writes it, graph/composition.ts puts the
// picture together.

import type { ByDensity } from "./graph";
import type { Check, Checked, CheckOf } from "./validators";
import { flag, listOf, mapOf, oneOf, orNull, recordOf, text, whole } from "./validators";

export type Direction = "TB" | "LR";
export type Pair = readonly [number, number];

const number: CheckOf<number> = (value) => typeof value === "number" && Number.isFinite(value);
const pair: CheckOf<Pair> = (value) =>
  listOf(number)(value) && (value as readonly unknown[]).length === 2;
/** Card ("" for the rim of the inside) and number of the port. */
export type LinkEnd = readonly [card: string, port: number];
const end: CheckOf<LinkEnd> = (value) =>
  Array.isArray(value) && value.length === 2 && text(value[0]) && whole(value[1]);
const points: CheckOf<readonly Pair[]> = (value) =>
  listOf(pair)(value) && (value as readonly unknown[]).length >= 4;

/** A box that stands for many nodes. */
export const fold = recordOf({
  /** "f0" is the whole graph. */
  id: text,
  /** The fold that it is a member of, "" for the whole graph. */
  above: text,
  kind: text,
  /** Path of the module that made all of it, "" if none is known. */
  path: text,
  label: text,
  words: listOf(text),
  /** How many nodes are in it, leaves included. */
  nodes: whole,
  members: whole,
  /** Whether the document has its inside. */
  has_inside: flag,
});
export type Fold = Checked<typeof fold>;

/** A member of a fold as it is drawn: a node, or a closed box. */
const card = recordOf({
  ...{ id: text, x: number, y: number, width: number, height: number },
  /** SVG text, its box at (0, 0). */
  markup: text,
});
export type InsideCard = Checked<typeof card>;

const link = recordOf({
  /** The places where it turns, from tail to head, with its ends: four or more. */
  points,
  ...{ tail: end, head: end },
  /** How far it goes on inside the boxes at its ends. */
  ...{ tail_reach: pair, head_reach: pair },
  ...{ id: text, source: text, target: text },
  slot: orNull(whole),
  /** How many entries of next_functions it is. */
  count: whole,
  is_edge: flag,
});
export type InsideLink = Checked<typeof link>;

/** The members of a fold, laid out alone. */
const inside = recordOf({
  ...{ width: number, height: number, cards: listOf(card), links: listOf(link) },
  /** Places along the rim where values come in and go out, one per port of the closed box. */
  ...{ inputs: listOf(number), outputs: listOf(number) },
  /** SVG text of what stands in the header of its frame, the corner at (0, 0). */
  header: text,
});
export type Inside = Checked<typeof inside>;

/** By the id of the fold; "" is a picture of the closed box of the whole graph. */
export const insides = mapOf(inside);
export type Insides = Checked<typeof insides>;

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

const current: Check = (value) =>
  Array.isArray(value) && value.length === 2 && whole(value[0]) && listOf(text)(value[1]);

/** `byDensity` is the check of graph.ts, which imports this. */
export const foldingOf = (byDensity: (check: Check) => Check): Check =>
  recordOf(
    {
      opened: listOf(text),
      direction: oneOf(["TB", "LR"]),
      folds: listOf(fold),
      insides: byDensity(insides),
      limit: text,
      note: text,
    },
    { current: listOf(current) },
  );
