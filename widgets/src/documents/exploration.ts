// What gradviz/teach/explorer.py adds to the document of a graph: the inputs of a function, and what
// its last run left.
import type { BaseDocument } from "./graph";
import type { Checked, CheckOf } from "./validators";
import { flag, listOf, orNull, recordOf, text, whole } from "./validators";

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

const isPart: CheckOf<Part> = (value) =>
  recordOf({ kind: text, label: text, text, tip: text })(value) &&
  typeof (value as Part).value === typeof (value as Part).first;

/** A parameter of the function. */
const control = recordOf({
  name: text,
  /** What is said where there is no field, or "". */
  note: text,
  /** How many of its numbers are in a row. */
  columns: whole,
  parts: listOf(isPart),
  /** What its `.grad` holds, with what that is and why; null if it cannot have one. */
  gradient: orNull(recordOf({ label: text, value: text, tip: text })),
});
export type Control = Checked<typeof control>;

const exploration = recordOf({
  /** The function with the names of its inputs. */
  title: text,
  /** What it returned: names and values, "?" where they are not known. */
  results: listOf(recordOf({ name: text, value: text })),
  controls: listOf(control),
  /** Who has called backward, or why nobody has; or "". */
  backward: text,
  has_failed: flag,
  /** The error with its line, or why there is no graph. */
  message: listOf(text),
  /** What the function printed. */
  printed: text,
  /** A heading and sentences; nothing after the first run. */
  changed: listOf(text),
  /** Python that makes this picture. */
  code: text,
  /** Whether any run left a graph. */
  has_picture: flag,
});
export type Exploration = Checked<typeof exploration>;

/** What the document of a graph that is explored has beside that of every graph. */
export const explorationOptional = { exploration };

export function explorationOf(document: BaseDocument): Exploration | undefined {
  return (document as BaseDocument & { readonly exploration?: Exploration }).exploration;
}
