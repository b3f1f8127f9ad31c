// Asks Python to run the function with other values. One request is on its way at a time, and the
// next one carries the newest values: runs never queue up, and the last value wins.
import type { Request, Store } from "../model/store";

/** Milliseconds between two requests. */
const BETWEEN = 60;
/** Milliseconds after which a missing answer is said. */
const SLOW = 400;
const MISSING = 2500;

/** "absent": there is no Python that could answer; "silent": none has answered for long. */
export type Progress = "idle" | "running" | "silent" | "absent";

export class Requests {
  readonly #store: Store;
  readonly #signal: AbortSignal;
  readonly #changed: () => void;
  /** Values that were not sent yet. */
  readonly #wanted = new Map<string, Request["values"][number]>();
  #sentAt = Number.NEGATIVE_INFINITY;
  #sending: number | undefined;
  #waiting: number[] = [];
  /** Whether Python has answered this view. */
  #isHeard = false;
  #late: "idle" | "running" | "silent" = "idle";

  constructor(store: Store, signal: AbortSignal, changed: () => void) {
    this.#store = store;
    this.#signal = signal;
    this.#changed = changed;
    signal.addEventListener("abort", () => {
      clearTimeout(this.#sending);
      this.#stopWaiting();
    });
  }

  /** Asks whether somebody answers, once the view is there. */
  start(): void {
    if (this.#store.get("answered") < 0) return;
    const { turn } = this.#store.get("request");
    let seen = this.#store.get("answered");
    this.#store.watch(["answered"], () => {
      if (this.#store.get("answered") === seen) return;
      seen = this.#store.get("answered");
      this.#answered();
    });
    // Another view may be waiting already: its answer is heard here too.
    if (turn > seen) this.#wait();
    else this.#send();
  }

  get progress(): Progress {
    return this.#store.get("answered") < 0 ? "absent" : this.#late;
  }

  /** Whether inputs can be changed: somebody has answered. */
  get isOpen(): boolean {
    return this.#isHeard;
  }

  /** Whether a value of this part is newer than the document. */
  isAhead(name: string, number: number): boolean {
    const key = keyOf(name, number);
    if (this.#wanted.has(key)) return true;
    const { values } = this.#store.get("request");
    return this.#isUnanswered && values.some(([n, place]) => keyOf(n, place) === key);
  }

  /** Wants values; all that are wanted before the next request go together. */
  set(...values: Request["values"]): void {
    for (const value of values) this.#wanted.set(keyOf(value[0], value[1]), value);
    this.#next();
  }

  get #isUnanswered(): boolean {
    return this.#store.get("request").turn > this.#store.get("answered");
  }

  #next(): void {
    if (this.#sending !== undefined || this.#isUnanswered || !this.#wanted.size) return;
    const rest = this.#sentAt + BETWEEN - performance.now();
    if (rest <= 0) {
      this.#send();
      return;
    }
    this.#sending = window.setTimeout(() => {
      this.#sending = undefined;
      if (!this.#isUnanswered) this.#send();
    }, rest);
  }

  #send(): void {
    if (this.#signal.aborted) return;
    const turn = Math.max(this.#store.get("request").turn, this.#store.get("answered")) + 1;
    const values = [...this.#wanted.values()];
    this.#wanted.clear();
    this.#sentAt = performance.now();
    this.#wait();
    this.#store.set("request", { turn, values });
  }

  #answered(): void {
    if (this.#isUnanswered) return;
    this.#isHeard = true;
    this.#late = "idle";
    this.#stopWaiting();
    this.#changed();
    this.#next();
  }

  #wait(): void {
    this.#stopWaiting();
    const say = (late: "running" | "silent") => () => {
      this.#late = late;
      this.#changed();
    };
    this.#waiting = [
      window.setTimeout(say("running"), SLOW),
      window.setTimeout(say("silent"), MISSING),
    ];
  }

  #stopWaiting(): void {
    for (const timer of this.#waiting) clearTimeout(timer);
    this.#waiting = [];
  }
}

function keyOf(name: string, number: number): string {
  return JSON.stringify([name, number]);
}
