// Whether a test is over, and which answers count: those that were there when its score was asked
// for. Kept in the storage of this browser, never in the notebook, and sent nowhere.
import { forgetFrom, keepAt, keptAt } from "../lib/kept";

const PREFIX = "gradviz:test:";
/** Said to the page when an answer to a question of a test changes. */
const ANSWERED = "gradviz-test-answered";
/** Said to the page when a test is over, or begins anew. */
const TURNED = "gradviz-test-turned";

export type Answers = Readonly<Record<string, unknown>>;

export class TestState {
  readonly #key: string;

  constructor(test: string) {
    this.#key = PREFIX + test;
  }

  /** The answers that count, by the place where each is kept; undefined as long as it goes on. */
  get counted(): Answers | undefined {
    const kept = keptAt(this.#key);
    return kept !== null && typeof kept === "object" ? (kept as Answers) : undefined;
  }

  /** Ends the test. Throws a sentence where the browser keeps nothing. */
  end(answers: Answers): void {
    if (!keepAt(this.#key, answers)) {
      throw new Error("this browser keeps nothing, so no answers can be counted");
    }
    document.dispatchEvent(new Event(TURNED));
  }

  begin(): void {
    keepAt(this.#key, undefined);
    document.dispatchEvent(new Event(TURNED));
  }

  static answered(): void {
    document.dispatchEvent(new Event(ANSWERED));
  }

  static onAnswered(call: () => void, signal: AbortSignal): void {
    document.addEventListener(ANSWERED, call, { signal });
  }

  static onTurned(call: () => void, signal: AbortSignal): void {
    document.addEventListener(TURNED, call, { signal });
  }

  /** Forgets that any test is over. */
  static forgetAll(): void {
    forgetFrom(PREFIX);
  }
}
