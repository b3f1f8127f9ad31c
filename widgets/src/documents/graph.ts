// The JSON that gradviz/view/documents/graph.py writes, and what all documents have in common.
// tests/golden/wire/*.json binds both sides.
import { type Folding, foldingOf } from "./folds";
import type { Checked, CheckOf } from "./validators";
import { listOf, oneOf, pair, recordOf, text } from "./validators";

/** How much cards say: what it is, what a learner needs, everything. */
export const DENSITIES = ["compact", "normal", "full"] as const;
export type Density = (typeof DENSITIES)[number];
/** By density. Of a large picture one may be missing, never that of `density`. */
export type ByDensity<T> = Readonly<Partial<Record<Density, T>>>;

export type ItemKind = "node" | "leaf" | "tensor" | "fold";

const details = recordOf({ heading: text, rows: listOf(pair) });
export type DetailSection = Checked<typeof details>;

/** A node, a tensor or a fold that can be selected. */
export const item = recordOf(
  {
    id: text,
    kind: text as CheckOf<ItemKind>,
    label: text,
    /** One sentence for a screen reader. */
    aria: text,
    /** Lower-case text that find looks in. */
    find: text,
    /** Neighbours towards the leaves, in the order of next_functions, and towards the root. */
    ...{ next: listOf(text), prev: listOf(text) },
    /** Empty if it is not drawn: its row of the outline has its facts. */
    details: listOf(details),
  },
  {
    /** Absent if it is drawn. */
    is_drawn: oneOf([false]),
    /** The innermost fold that it is in; absent where nothing is folded. */
    fold: text,
  },
);
export type Item = Checked<typeof item>;

/** How much of a large graph is drawn. */
const extent = recordOf({
  words: text,
  /** What a person passes to gradviz.show. */
  subject: text,
  /** A node that is not drawn, "" if there is none. */
  example: text,
});
export type Extent = Checked<typeof extent>;

const legendEntry = recordOf({ class: text, label: text });
export type LegendEntry = Checked<typeof legendEntry>;

const outline = recordOf({
  columns: listOf(text),
  rows: listOf(recordOf({ id: text, cells: listOf(text) })),
});
export type Outline = Checked<typeof outline>;

/** Of each density that is there. */
export const byDensity =
  <T>(check: CheckOf<T>): CheckOf<ByDensity<T>> =>
  (value) =>
    recordOf({})(value) &&
    Object.entries(value as object).every(([name, one]) => oneOf(DENSITIES)(name) && check(one));

/** What documents of every kind have. */
export const baseFields = {
  title: text,
  /** The density that is shown first. */
  density: oneOf(DENSITIES),
  legend: listOf(legendEntry),
  ...{ text, summary: text },
};
export const baseOptional = {
  /** What Graph.from_json or Recording.from_json reads; absent when it would be large. */
  json: text,
  /** Absent where all is drawn. */
  extent,
  /** Absent where nothing is folded. */
  fold: foldingOf(byDensity) as CheckOf<Folding>,
};
const base = recordOf(baseFields, baseOptional);
export interface BaseDocument extends Checked<typeof base> {
  readonly format: 1;
}

/** Fields of {@link GraphContent} beside title and summary. */
export const contentFields = { items: listOf(item), outline };
/** What there is in a graph at one moment. */
export const content = recordOf({ title: text, summary: text, ...contentFields });
export type GraphContent = Checked<typeof content>;

export interface GraphDocument extends BaseDocument, GraphContent {
  /** SVG text. */
  readonly pictures: ByDensity<string>;
}
