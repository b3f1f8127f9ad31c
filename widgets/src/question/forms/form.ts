// What every form of a question does in the browser: controls, and the judgement of an answer by the
// rules of gradviz/model/forms. tests/golden/question/judged.json binds both sides.
import type { FormData } from "../../documents/question";
import type { PanelContext } from "../../panel_context";

export interface Verdict {
  readonly right: boolean;
  /** The parts of the answer that are wrong, as the sentences of the question name them. */
  readonly wrong: readonly string[];
}

/** The controls of one question. */
export interface Field {
  readonly element: HTMLElement;
  /** What is answered, as plain data; undefined as long as it is not complete. */
  answer(): unknown;
  /** Shows an answer that was given before and can be changed; undefined shows none. */
  show(answer: unknown): void;
  /** Lets nothing be changed any more, and shows itself corrected. */
  reveal(key: unknown, answer: unknown): void;
}

export interface FieldContext
  extends Pick<PanelContext, "prefix" | "signal" | "tooltip" | "announce"> {
  /** Is called when what is answered changes. */
  changed(): void;
  /** Asks for the answer to be checked. */
  submit(): void;
}

export interface FormKind<Data extends FormData = FormData> {
  make(context: FieldContext, form: Data): Field;
  /** Judges an answer that is complete. `named` are the parts that have a sentence. */
  judge(form: Data, key: unknown, answer: unknown, named: readonly string[]): Verdict;
  /** The parts of the key whose sentences are said with it. */
  told?(key: unknown): readonly string[];
}
