// The JSON that gradviz/view/documents/score.py writes: the questions of a test, and sealed what
// judges their answers. Sealed is encoded, not secret: it is judged here, without a kernel.
import { inflate } from "./parse";
import { type Checked, listOf, recordOf, text } from "./validators";

export const SCORE = "test score";

const item = recordOf({
  ...{ id: text, digest: text },
  /** With code between backticks. */
  question: text,
});
export type ScoreItem = Checked<typeof item>;

const score = recordOf({
  /** The name of the test. */
  test: text,
  items: listOf(item),
  sealed: text,
});
export type ScoreDocument = Checked<typeof score>;

/** What judges one answer. */
const judged = recordOf({
  /** Of a picture only the names. */
  form: recordOf({ kind: text }),
  /** Parts of an answer that have a sentence. */
  named: listOf(text),
  /** What a wrong answer points at, and which lesson helps, or "". */
  ...{ about: text, see: text },
});
export type JudgedItem = Checked<typeof judged> & { readonly key: unknown };

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
