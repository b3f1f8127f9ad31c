// What gradviz/teach/explorer.py adds to the document of a graph: the inputs of a function, and what
// its last run left.
import type { BaseDocument } from "./graph";
import { type Check, listOf, recordOf, text, whole } from "./validators";

interface AnyPart<Kind extends string, Value> {
  readonly kind: Kind;
  /** Its name. */
  readonly label: string;
  /** What is written beside it, which may be less. */
  readonly text: string;
  /** What it does, or "". */
  readonly tip: string;
  readonly value: Value;
  /** What it began with. */
  readonly first: Value;
}

export interface NumberPart extends AnyPart<"number", number> {
  /** Whether it stays an integer. */
  readonly whole: boolean;
  readonly step: number;
  /** The ends of its slider; null if it has none. */
  readonly slider: { readonly min: number; readonly max: number } | null;
}

export interface ChoicePart extends AnyPart<"choice", number> {
  /** Values are places in this list. */
  readonly options: readonly string[];
}

/** One value that a person can set. */
export type Part = NumberPart | ChoicePart | AnyPart<"switch", boolean> | AnyPart<"text", string>;

/** A parameter of the function. */
export interface Control {
  readonly name: string;
  /** What is said where there is no field, or "". */
  readonly note: string;
  /** How many of its numbers are in a row. */
  readonly columns: number;
  readonly parts: readonly Part[];
}

export interface Exploration {
  /** The function with the names of its inputs. */
  readonly title: string;
  readonly controls: readonly Control[];
  readonly has_failed: boolean;
  /** The error with its line, or why there is no graph. */
  readonly message: readonly string[];
  /** What the function printed. */
  readonly printed: string;
  /** A heading and sentences; nothing after the first run. */
  readonly changed: readonly string[];
  /** Python that makes this picture. */
  readonly code: string;
  /** Whether any run left a graph. */
  readonly has_picture: boolean;
}

const isPart: Check = (value) =>
  recordOf({ kind: text, label: text, text, tip: text })(value) &&
  typeof (value as Part).value === typeof (value as Part).first;

const isExploration = recordOf({
  title: text,
  controls: listOf(recordOf({ name: text, note: text, columns: whole, parts: listOf(isPart) })),
  has_failed: (value) => typeof value === "boolean",
  message: listOf(text),
  printed: text,
  changed: listOf(text),
  code: text,
  has_picture: (value) => typeof value === "boolean",
});

/** Fields of the document of a graph that is explored, beside those of every graph. */
export const explorationFields: Record<string, Check> = {
  exploration: (value) => value === undefined || isExploration(value),
};

export function explorationOf(document: BaseDocument): Exploration | undefined {
  return (document as BaseDocument & { readonly exploration?: Exploration }).exploration;
}
