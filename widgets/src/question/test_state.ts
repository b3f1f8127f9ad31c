// Whether a test is over, and which answers count: those that were there when its score was asked
// for. Kept in the storage of this browser, never in the notebook, and sent nowhere.

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
    try {
      const kept: unknown = JSON.parse(localStorage.getItem(this.#key) ?? "null");
      return kept !== null && typeof kept === "object" ? (kept as Answers) : undefined;
    } catch {
      return undefined;
    }
  }

  /** Ends the test. Throws a sentence where the browser keeps nothing. */
  end(answers: Answers): void {
    try {
      localStorage.setItem(this.#key, JSON.stringify(answers));
    } catch {
      throw new Error("this browser keeps nothing, so no answers can be counted");
    }
    document.dispatchEvent(new Event(TURNED));
  }

  begin(): void {
    try {
      localStorage.removeItem(this.#key);
    } catch {
      // No storage: it has never ended.
    }
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
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
    for (const key of keys) localStorage.removeItem(key);
  }
}
