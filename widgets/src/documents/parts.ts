// The parts that reports, explanations, questions and repairs consist of, as
// gradviz/view/parts/part.py has them.
import { sentence } from "./sentence";
import { type TableContent, tableFields } from "./table";
import type { Check, Checked, CheckOf } from "./validators";
import { flag, listOf, oneOf, recordOf, text } from "./validators";

const code = recordOf({
  is: oneOf(["CodeBlock"]),
  /** Empty where a line is taken out. */
  lines: listOf(text),
  /** "in place of line 4", or "". */
  where: sentence,
  /** The line that is replaced or taken out, or "". */
  old: text,
});
const field = recordOf({
  name: text,
  values: listOf(sentence),
  /** Source text that belongs to the first value, or "". */
  code: text,
});
const outcome = recordOf({
  what: text,
  expected: text,
  found: text,
  is_right: flag,
});
const advice = recordOf({
  is: oneOf(["Advice"]),
  /** "fix 2". */
  name: text,
  does: sentence,
  changes: listOf(code),
});

/** Parts that are folded at first. */
interface Details {
  readonly is: "Details";
  readonly summary: string;
  readonly parts: readonly Part[];
}
/** A table whose rows may be about things in a picture, and a sentence about rows that are not here. */
export interface Rows extends TableContent {
  readonly is: "Rows";
  readonly more: string;
}
const details: Check = recordOf({ summary: text, parts: (value) => parts(value) });
const rows: Check = recordOf({ ...tableFields, more: text });

/** By what a part is. */
const CHECKS = {
  CodeBlock: code,
  Advice: advice,
  Details: details as CheckOf<Details>,
  /** Words, with code between backticks. */
  Paragraph: recordOf({
    ...{ is: oneOf(["Paragraph"]), words: sentence },
    look: oneOf(["", "title", "asked", "what", "quiet", "known", "why"]),
  }),
  /** Numbered if they have a name: "hint". */
  ItemList: recordOf({ is: oneOf(["ItemList"]), items: listOf(sentence), name: text }),
  FieldList: recordOf({ is: oneOf(["FieldList"]), fields: listOf(field) }),
  Outcomes: recordOf({ is: oneOf(["Outcomes"]), outcomes: listOf(outcome) }),
  Image: recordOf({ is: oneOf(["Image"]), svg: text, caption: text }),
  Rows: rows as CheckOf<Rows>,
};

export type Part = Checked<(typeof CHECKS)[keyof typeof CHECKS]>;
type Of<K> = Extract<Part, { readonly is: K }>;
export type Advice = Of<"Advice">;
export type FieldList = Of<"FieldList">;
export type Image = Of<"Image">;
export type Outcome = Checked<typeof outcome>;

export const parts: CheckOf<readonly Part[]> = listOf(
  (value) => CHECKS[(value as Part | null)?.is as Part["is"]]?.(value) ?? false,
);
