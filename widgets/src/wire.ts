// The JSON that gradviz/view/wire.py writes. tests/golden/wire/*.json binds both sides.

export type Kind = "node" | "leaf" | "tensor";

export interface Section {
  readonly heading: string;
  readonly rows: readonly (readonly [string, string])[];
}

export interface Item {
  readonly id: string;
  readonly kind: Kind;
  readonly label: string;
  /** One sentence for a screen reader. */
  readonly aria: string;
  /** Lower-case text that find looks in. */
  readonly find: string;
  /** Neighbours towards the leaves, in the order of next_functions. */
  readonly next: readonly string[];
  /** Neighbours towards the root. */
  readonly prev: readonly string[];
  readonly details: readonly Section[];
}

export interface LegendEntry {
  readonly class: string;
  readonly label: string;
}

export interface Outline {
  readonly columns: readonly string[];
  readonly rows: readonly { readonly id: string; readonly cells: readonly string[] }[];
}

export interface Wire {
  readonly format: 1;
  readonly title: string;
  readonly svg: string;
  readonly items: readonly Item[];
  readonly legend: readonly LegendEntry[];
  readonly outline: Outline;
  readonly text: string;
  readonly summary: string;
  /** The graph as gradviz.Graph.from_json reads it; absent when it would make the state large. */
  readonly json?: string;
}

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === "string";
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const recordOf =
  (fields: Record<string, Check>): Check =>
  (value) =>
    typeof value === "object" &&
    value !== null &&
    Object.entries(fields).every(([name, check]) =>
      check((value as Record<string, unknown>)[name]),
    );

const pair: Check = (value) => listOf(text)(value) && (value as unknown[]).length === 2;
const fields: Record<string, Check> = {
  title: text,
  svg: text,
  text,
  summary: text,
  items: listOf(
    recordOf({
      id: text,
      kind: text,
      label: text,
      aria: text,
      find: text,
      next: listOf(text),
      prev: listOf(text),
      details: listOf(recordOf({ heading: text, rows: listOf(pair) })),
    }),
  ),
  legend: listOf(recordOf({ class: text, label: text })),
  outline: recordOf({
    columns: listOf(text),
    rows: listOf(recordOf({ id: text, cells: listOf(text) })),
  }),
  json: (value) => value === undefined || text(value),
};

/** Checks everything the panels rely on. Throws a sentence a reader can act on. */
export function parseWire(value: unknown): Wire {
  const wire = value as Record<string, unknown> | null;
  if (typeof wire !== "object" || wire === null || !("format" in wire)) {
    throw new Error("there is no graph to show yet");
  }
  if (wire.format !== 1) {
    throw new Error(
      `this picture has format ${String(wire.format)}, the front end reads format 1: run the cell again`,
    );
  }
  for (const [name, check] of Object.entries(fields)) {
    if (!check(wire[name])) throw new Error(`the field "${name}" of this picture is damaged`);
  }
  return wire as unknown as Wire;
}
