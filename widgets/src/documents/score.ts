// The JSON that gradviz/view/documents/score.py writes: the questions of a test, and sealed what
// judges their answers. Sealed is encoded, not secret: it is judged here, without a kernel.
import { inflate } from "./parse";
import type { FormData } from "./question";
import { listOf, recordOf, text } from "./validators";

export const SCORE = "test score";

export interface ScoreItem {
  readonly id: string;
  readonly digest: string;
  /** With code between backticks. */
  readonly question: string;
}

export interface ScoreDocument {
  readonly kind: typeof SCORE;
  /** The name of the test. */
  readonly test: string;
  readonly items: readonly ScoreItem[];
  readonly sealed: string;
}

/** What judges one answer. */
export interface JudgedItem {
  /** Of a picture only the names. */
  readonly form: FormData;
  readonly key: unknown;
  /** Parts of an answer that have a sentence. */
  readonly named: readonly string[];
  /** What a wrong answer points at, or "". */
  readonly about: string;
  /** Which lesson helps, or "". */
  readonly see: string;
}

const score = recordOf({
  ...{ test: text, sealed: text },
  items: listOf(recordOf({ id: text, digest: text, question: text })),
});
const judged = recordOf({
  form: recordOf({ kind: text }),
  ...{ named: listOf(text), about: text, see: text },
});

/** Throws a sentence a reader can act on. */
export function checkScore(wire: unknown): ScoreDocument {
  if (!score(wire)) throw new Error("this score is damaged: run the cell again");
  return wire as ScoreDocument;
}

/** What judges each item. Rejects with a sentence a reader can act on. */
export async function unsealedItems(document: ScoreDocument): Promise<readonly JudgedItem[]> {
  const found = (await inflate(document.sealed)) as { readonly items?: unknown };
  const items = found?.items;
  if (!listOf(judged)(items) || (items as unknown[]).length !== document.items.length) {
    throw new Error("the keys of this test are damaged: run the cell again");
  }
  return items as readonly JudgedItem[];
}
