// The JSON that gradviz/view/documents/question.py writes: what is asked, and the answer sealed.
// Sealed is encoded, not secret: it is judged here, without a kernel.
import { inflate } from "./parse";
import type { RecordingDocument } from "./recording";
import type { Check, Checked, CheckOf } from "./validators";
import { listOf, mapOf, recordOf, text, whole } from "./validators";

/** What a form shows before an answer; each form knows its own fields. */
export interface FormData {
  readonly kind: string;
}

const fields = {
  ...{ title: text, summary: text, text },
  /** With code between backticks. */
  question: text,
  program: recordOf({ first: whole, lines: listOf(text) }),
  form: recordOf({ kind: text }),
  /** "04-twice/second-call", "" for a question that is not part of the course. */
  id: text,
  /** A hash of the key, salted by the question. */
  digest: text,
  /** "" for a question of a test, whose key is in its score. */
  sealed: text,
};
const all = recordOf(fields);
/** One that is judged at once is of no test. */
export type QuestionDocument = Checked<typeof all> & { readonly test?: string };

/** What is sealed. */
const answer = recordOf({
  /** The key as text, line by line. */
  key_lines: listOf(text),
  /** What is said of a wrong part of an answer, by its name. */
  sentences: mapOf(text),
  /** What is said with the key, or "". */
  why: text,
  /** What the program printed, or "". */
  printed: text,
  player: recordOf({}) as Check as CheckOf<RecordingDocument>,
});
/** The key is as the form of the question has it. */
export type SealedAnswer = Checked<typeof answer> & { readonly key: unknown };

/** The kind that a document says it is. */
export function kindOf(wire: unknown): unknown {
  return recordOf({ kind: text })(wire) ? (wire as { readonly kind: string }).kind : undefined;
}

export function isQuestion(wire: unknown): wire is QuestionDocument {
  return kindOf(wire) === "question";
}

/** Throws a sentence a reader can act on. */
export function checkQuestion(wire: QuestionDocument): QuestionDocument {
  for (const [name, check] of Object.entries(fields)) {
    if (!check(wire[name as keyof QuestionDocument])) {
      throw new Error(`the field "${name}" of this question is damaged`);
    }
  }
  return wire;
}

/** What is sealed in a question. Rejects with a sentence a reader can act on. */
export async function unsealed(question: QuestionDocument): Promise<SealedAnswer> {
  const found = await inflate(question.sealed);
  if (!answer(found)) throw new Error("the answer of this question is damaged: run the cell again");
  return found as SealedAnswer;
}
