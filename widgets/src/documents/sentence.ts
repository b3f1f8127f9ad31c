// Sentences that keep what they name, as gradviz/model/sentence.py has them.
import { type CheckOf, listOf, recordOf, text } from "./validators";

/** A word that names something: the same thing is highlighted everywhere. */
export interface Term {
  /** "n0", "t3" or "line:0:4", the number of the code before that of the line. */
  readonly id: string;
  readonly text: string;
  /** Step after which a line had run: the step to go to when the word is clicked. */
  readonly step?: number;
}

/** Text, and terms. */
export type Sentence = readonly (string | Term)[];

/** A sentence without what it names. */
export const wordsOf = (words: Sentence): string =>
  words.map((part) => (typeof part === "string" ? part : part.text)).join("");

export const sentence: CheckOf<Sentence> = listOf(
  (value) => text(value) || recordOf({ id: text, text })(value),
);
