// The card of an explanation, as gradviz/view/documents/explanation.py writes it: why torch raised
// at a step, or why a gradient is wrong although torch raised no error.
import { parts } from "./parts";
import { type Checked, oneOf, orNull, recordOf, text, whole } from "./validators";

/** A line of the code panel: its text has the id `line:${code}:${line}`. */
const line = recordOf({ code: whole, line: whole });

export const card = recordOf({
  /** "error": torch raised; "warning": it did not, and a gradient is wrong; "note": a fact that can be
   * meant, which is worth a look. */
  tone: oneOf(["error", "warning", "note"]),
  /** "RuntimeError", "no error, but wrong" or "worth a look". */
  title: text,
  /** "saved tensor written". */
  kind: text,
  parts,
  /** Line of the culprit, for the code panel and "jump to culprit"; its step if that is known. */
  ...{ culprit_line: orNull(line), culprit_step: orNull(whole) },
  noticed_line: orNull(line),
  /** The whole card as plain text, as `print(explanation)` gives it. */
  text,
});
export type ExplanationCard = Checked<typeof card>;
