// The card of an explanation, as gradviz/view/documents/explanation.py writes it: why torch raised
// at a step, or why a gradient is wrong although torch raised no error.
import { type Part, parts } from "./parts";
import { type Check, orNull, recordOf, text, whole } from "./validators";

/** A line of the code panel: its text has the id `line:${code}:${line}`. */
export interface CodeLine {
  readonly code: number;
  readonly line: number;
}

export interface ExplanationCard {
  /** "error": torch raised; "warning": it did not, and a gradient is wrong; "note": a fact that can be
   * meant, which is worth a look. */
  readonly tone: "error" | "warning" | "note";
  /** "RuntimeError", "no error, but wrong" or "worth a look". */
  readonly title: string;
  /** "saved tensor written". */
  readonly kind: string;
  readonly parts: readonly Part[];
  /** Line of the culprit, for the code panel and "jump to culprit"; its step if that is known. */
  readonly culprit_line: CodeLine | null;
  readonly culprit_step: number | null;
  readonly noticed_line: CodeLine | null;
  /** The whole card as plain text, as `print(explanation)` gives it. */
  readonly text: string;
}

const line = orNull(recordOf({ code: whole, line: whole }));

export const card: Check = recordOf({
  ...{ tone: text, title: text, kind: text, parts, text },
  ...{ culprit_line: line, culprit_step: orNull(whole), noticed_line: line },
});
