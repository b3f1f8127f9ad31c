// The JSON that gradviz/view/documents/question.py writes: what is asked, and the answer sealed.
// Sealed is encoded, not secret: it is judged here, without a kernel.
import { inflate } from "./parse";
import type { RecordingDocument } from "./recording";
import { type Check, listOf, mapOf, recordOf, text, whole } from "./validators";

/** What a form shows before an answer; each form knows its own fields. */
export interface FormData {
  readonly kind: string;
}

export interface QuestionDocument {
  readonly format: 1;
  readonly kind: "question";
  readonly title: string;
  readonly summary: string;
  readonly text: string;
  /** With code between backticks. */
  readonly question: string;
  readonly program: { readonly first: number; readonly lines: readonly string[] };
  readonly form: FormData;
  /** "04-twice/second-call", "" for a question that is not part of the course. */
  readonly id: string;
  /** A hash of the key, salted by the question. */
  readonly digest: string;
  /** "" for a question of a test, whose key is in its score. */
  readonly sealed: string;
  /** The name of the test it belongs to; there is none of a question that is judged at once. */
  readonly test?: string;
}

/** What is sealed. */
export interface SealedAnswer {
  /** As the form of the question has it. */
  readonly key: unknown;
  /** The key as text, line by line. */
  readonly key_lines: readonly string[];
  /** What is said of a wrong part of an answer, by its name. */
  readonly sentences: Readonly<Record<string, string>>;
  /** What is said with the key, or "". */
  readonly why: string;
  /** What the program printed, or "". */
  readonly printed: string;
  readonly player: RecordingDocument;
}

const fields: Record<string, Check> = {
  title: text,
  summary: text,
  text,
  question: text,
  program: recordOf({ first: whole, lines: listOf(text) }),
  form: recordOf({ kind: text }),
  id: text,
  digest: text,
  sealed: text,
};
const answer = recordOf({
  key_lines: listOf(text),
  sentences: mapOf(text),
  why: text,
  printed: text,
  player: recordOf({}),
});

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
