// The card of an explanation, as gradviz/view/documents/explanation.py writes it: why torch raised
// at a step, or why a gradient is wrong although torch raised no error.
import { type Sentence, sentence } from "./sentence";
import { type Check, listOf, orNull, recordOf, text, whole } from "./validators";

/** A line of the code panel: its text has the id `line:${code}:${line}`. */
export interface CodeLine {
  readonly code: number;
  readonly line: number;
}

export interface CardField {
  /** "variables", "saved tensor", "culprit", "noticed", "already changed", "not known" … */
  readonly name: string;
  /** One or more values, each a row of its own. */
  readonly values: readonly Sentence[];
  /** Source text that belongs to the FIRST value (the line), "" if there is none: "h.add_(1)". */
  readonly code: string;
}

/** One change of the code. */
export interface CardChange {
  /** Where: "in place of line 4", "before line 4", "after line 4", "without line 4" or "". */
  readonly where: Sentence;
  /** Python, may have several lines; "" takes the line out. */
  readonly code: string;
}

export interface CardFix {
  readonly does: string;
  /** One or more changes, all of which belong to it. */
  readonly changes: readonly CardChange[];
}

export interface ExplanationCard {
  /** "error": torch raised; "warning": it did not, and a gradient is wrong; "note": a fact that can be
   * meant, which is worth a look. */
  readonly tone: "error" | "warning" | "note";
  /** "RuntimeError", "no error, but wrong" or "worth a look". */
  readonly title: string;
  /** "saved tensor written". */
  readonly kind: string;
  readonly what: Sentence;
  /** May be empty. */
  readonly why: Sentence;
  /** What comes before the fix: the culprit, or the line that is known instead. */
  readonly first: readonly CardField[];
  /** The other facts, which come last. */
  readonly fields: readonly CardField[];
  readonly fixes: readonly CardFix[];
  /** Line of the culprit, for the code panel and "jump to culprit"; its step if that is known. */
  readonly culprit_line: CodeLine | null;
  readonly culprit_step: number | null;
  readonly noticed_line: CodeLine | null;
  /** The whole card as plain text, as `print(explanation)` gives it. */
  readonly text: string;
}

const fields = listOf(recordOf({ name: text, values: listOf(sentence), code: text }));
const line = orNull(recordOf({ code: whole, line: whole }));

export const card: Check = recordOf({
  tone: text,
  title: text,
  kind: text,
  what: sentence,
  why: sentence,
  first: fields,
  fields,
  fixes: listOf(
    recordOf({ does: text, changes: listOf(recordOf({ where: sentence, code: text })) }),
  ),
  culprit_line: line,
  culprit_step: orNull(whole),
  noticed_line: line,
  text,
});
