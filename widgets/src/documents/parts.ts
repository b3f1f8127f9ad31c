// The parts that reports, explanations, questions and repairs consist of, as
// gradviz/view/parts/part.py has them.
import { type Sentence, sentence } from "./sentence";
import { type TableContent, tableFields } from "./table";
import { type Check, listOf, recordOf, text } from "./validators";

/** Words, with code between backticks. */
export interface Paragraph {
  readonly is: "Paragraph";
  readonly words: Sentence;
  readonly look: "" | "title" | "what" | "quiet";
}

/** Code, or other lines whose spaces count. */
export interface CodeBlock {
  readonly is: "CodeBlock";
  readonly lines: readonly string[];
}

export interface ItemList {
  readonly is: "ItemList";
  readonly items: readonly Sentence[];
}

export interface FieldList {
  readonly is: "FieldList";
  readonly fields: readonly {
    readonly name: string;
    readonly values: readonly Sentence[];
    /** Source text that belongs to the first value, or "". */
    readonly code: string;
  }[];
}

/** What to do, with changes of the code. */
export interface Advice {
  readonly is: "Advice";
  /** "fix 2". */
  readonly name: string;
  readonly does: Sentence;
  /** Where may be empty; no lines take a line out. */
  readonly changes: readonly { readonly where: Sentence; readonly lines: readonly string[] }[];
}

/** Parts that are folded at first. */
export interface Details {
  readonly is: "Details";
  readonly summary: string;
  readonly parts: readonly Part[];
}

export interface Image {
  readonly is: "Image";
  readonly svg: string;
  readonly caption: string;
}

/** A table whose rows may be about things in a picture. */
export interface Rows extends TableContent {
  readonly is: "Rows";
  /** A sentence about rows that are not here. */
  readonly more: string;
}

export type Part = Paragraph | CodeBlock | ItemList | FieldList | Advice | Details | Image | Rows;

const lines = listOf(text);
const CHECKS: Readonly<Record<Part["is"], Check>> = {
  Paragraph: recordOf({ words: sentence, look: text }),
  CodeBlock: recordOf({ lines }),
  ItemList: recordOf({ items: listOf(sentence) }),
  FieldList: recordOf({
    fields: listOf(recordOf({ name: text, values: listOf(sentence), code: text })),
  }),
  Advice: recordOf({
    ...{ name: text, does: sentence },
    changes: listOf(recordOf({ where: sentence, lines })),
  }),
  Image: recordOf({ svg: text, caption: text }),
  Rows: recordOf({ ...tableFields, more: text }),
  Details: recordOf({ summary: text, parts: (value) => parts(value) }),
};

export const parts: Check = listOf(
  (value) => CHECKS[(value as Part | null)?.is as Part["is"]]?.(value) ?? false,
);
