// The JSON that gradviz/view/documents/graph.py writes, and what all documents have in common.
// tests/golden/wire/*.json binds both sides.
import { type Folding, foldingOf } from "./folds";
import { type Check, listOf, oneOf, pair, recordOf, text } from "./validators";

/** How much cards say: what it is, what a learner needs, everything. */
export const DENSITIES = ["compact", "normal", "full"] as const;
export type Density = (typeof DENSITIES)[number];
/** By density. Of a large picture one may be missing, never that of `density`. */
export type ByDensity<T> = Readonly<Partial<Record<Density, T>>>;

export type ItemKind = "node" | "leaf" | "tensor" | "fold";

export interface DetailSection {
  readonly heading: string;
  readonly rows: readonly (readonly [string, string])[];
}

/** A node, a tensor or a fold that can be selected. */
export interface Item {
  readonly id: string;
  readonly kind: ItemKind;
  readonly label: string;
  /** One sentence for a screen reader. */
  readonly aria: string;
  /** Lower-case text that find looks in. */
  readonly find: string;
  /** Neighbours towards the leaves, in the order of next_functions. */
  readonly next: readonly string[];
  /** Neighbours towards the root. */
  readonly prev: readonly string[];
  /** Empty if it is not drawn: its row of the outline has its facts. */
  readonly details: readonly DetailSection[];
  /** Absent if it is drawn. */
  readonly is_drawn?: false;
  /** The innermost fold that it is in; absent where nothing is folded. */
  readonly fold?: string;
}

/** How much of a large graph is drawn. */
export interface Extent {
  readonly words: string;
  /** What a person passes to gradviz.show. */
  readonly subject: string;
  /** A node that is not drawn, "" if there is none. */
  readonly example: string;
}

export interface LegendEntry {
  readonly class: string;
  readonly label: string;
}

export interface Outline {
  readonly columns: readonly string[];
  readonly rows: readonly { readonly id: string; readonly cells: readonly string[] }[];
}

/** What there is in a graph at one moment. */
export interface GraphContent {
  readonly title: string;
  readonly summary: string;
  readonly items: readonly Item[];
  readonly outline: Outline;
}

/** What documents of every kind have. */
export interface BaseDocument {
  readonly format: 1;
  readonly title: string;
  /** The density that is shown first. */
  readonly density: Density;
  readonly legend: readonly LegendEntry[];
  readonly text: string;
  readonly summary: string;
  /** What Graph.from_json or Recording.from_json reads; absent when it would be large. */
  readonly json?: string;
  /** Absent where all is drawn. */
  readonly extent?: Extent;
  /** Absent where nothing is folded. */
  readonly fold?: Folding;
}

export interface GraphDocument extends BaseDocument, GraphContent {
  /** SVG text. */
  readonly pictures: ByDensity<string>;
}

/** Of each density that is there. */
export const byDensity =
  (check: Check): Check =>
  (value) =>
    recordOf({})(value) &&
    Object.entries(value as object).every(([name, one]) => oneOf(DENSITIES)(name) && check(one));

export const item = recordOf({
  id: text,
  kind: text,
  label: text,
  aria: text,
  find: text,
  next: listOf(text),
  prev: listOf(text),
  details: listOf(recordOf({ heading: text, rows: listOf(pair) })),
  is_drawn: (value) => value === undefined || value === false,
  fold: (value) => value === undefined || text(value),
});

const extent = recordOf({ words: text, subject: text, example: text });
const folding = foldingOf(byDensity);

export const baseFields: Record<string, Check> = {
  title: text,
  density: oneOf(DENSITIES),
  text,
  summary: text,
  legend: listOf(recordOf({ class: text, label: text })),
  json: (value) => value === undefined || text(value),
  extent: (value) => value === undefined || extent(value),
  fold: (value) => value === undefined || folding(value),
};

/** Fields of {@link GraphContent} beside title and summary. */
export const contentFields: Record<string, Check> = {
  items: listOf(item),
  outline: recordOf({
    columns: listOf(text),
    rows: listOf(recordOf({ id: text, cells: listOf(text) })),
  }),
};
