// The JSON that gradviz/view/documents/repair.py writes: a verdict, hints that were asked for, and
// perhaps the document of a player. tests/golden/wire/repair.json binds both sides.
import { type Check, listOf, recordOf, text } from "./validators";

/** One value that is judged. */
export interface Outcome {
  readonly what: string;
  readonly expected: string;
  readonly found: string;
  readonly is_right: boolean;
}

export interface Repair {
  readonly headline: string;
  readonly is_solved: boolean;
  readonly goal: string;
  /** With which inputs the outcome was found, "" if there are none. */
  readonly run: string;
  readonly outcomes: readonly Outcome[];
  readonly problems: readonly string[];
  /** Why this is a known wrong fix, "" if it is none. */
  readonly known: string;
  /** What torch said, "" if nothing was raised. */
  readonly message: string;
  readonly why: string;
  /** Those that were asked for. */
  readonly hints: readonly string[];
  /** What can be asked for next, "" if nothing is left. */
  readonly button: string;
  /** What a check says to type next, "" as long as it is not to be seen. */
  readonly fix: string;
  /** A program that does it, "" as long as it is not to be seen. */
  readonly solution: string;
}

export interface RepairDocument {
  readonly repair: Repair;
  /** The document of the player below, null as long as there is none. */
  readonly player: unknown;
}

const flag: Check = (value) => typeof value === "boolean";
const isRepair = recordOf({
  ...{ headline: text, is_solved: flag, goal: text, run: text },
  outcomes: listOf(recordOf({ what: text, expected: text, found: text, is_right: flag })),
  ...{ problems: listOf(text), known: text, message: text, why: text },
  ...{ hints: listOf(text), button: text, fix: text, solution: text },
});

export function isRepairDocument(value: unknown): boolean {
  return (value as { kind?: unknown } | null)?.kind === "repair";
}

/** Throws a sentence a reader can act on. */
export function parseRepair(value: unknown): RepairDocument {
  const found = value as RepairDocument;
  if (!isRepairDocument(value) || !isRepair(found.repair) || found.player === undefined) {
    throw new Error("this exercise is damaged: run the cell again");
  }
  return found;
}
