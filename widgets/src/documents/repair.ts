// The JSON that gradviz/view/documents/repair.py writes: a verdict, hints that were asked for, and
// perhaps the document of a player. tests/golden/repair/broken.json binds both sides.
import { parts } from "./parts";
import type { Sentence } from "./sentence";
import { type Checked, oneOf, recordOf, text } from "./validators";

const repair = recordOf({
  title: text,
  tone: oneOf(["open", "solved"]),
  /** What is judged and found, and the hints that were asked for. */
  parts,
  /** The verdict in words, for who cannot see it. */
  said: text,
  /** What torch said, "" if nothing was raised. */
  message: text,
  /** What can be asked for next, "" if nothing is left. */
  button: text,
  /** What a check says to type next, and a program that does it; "" as long as they are hidden. */
  ...{ fix: text, solution: text },
});
export type Repair = Checked<typeof repair>;

export interface RepairDocument {
  readonly repair: Repair;
  /** The document of the player below, null as long as there is none. */
  readonly player: unknown;
}

export function isRepairDocument(value: unknown): boolean {
  return (value as { kind?: unknown } | null)?.kind === "repair";
}

/** Throws a sentence a reader can act on. */
export function parseRepair(value: unknown): RepairDocument {
  const found = value as RepairDocument;
  if (!isRepairDocument(value) || !repair(found.repair) || found.player === undefined) {
    throw new Error("this exercise is damaged: run the cell again");
  }
  return found;
}

export function hintsOf({ parts }: Repair): readonly Sentence[] {
  return parts.flatMap((part) => (part.is === "ItemList" ? part.items : []));
}
