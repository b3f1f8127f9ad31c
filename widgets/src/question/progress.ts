// What was answered, kept in the storage of this browser by question and digest; never in the
// notebook. Where there is no storage it lasts as long as the page.
import { forgetFrom, keepAt, keptAt } from "../lib/kept";
import { TestState } from "./test_state";

const PREFIX = "gradviz:question:";
/** Said to every question of the page when all is forgotten. */
const FORGOTTEN = "gradviz-questions-forgotten";

export class Progress {
  /** Where it is kept. */
  readonly place: string;

  constructor({ id, digest }: { readonly id: string; readonly digest: string }) {
    this.place = `${PREFIX}${id}:${digest}`;
  }

  /** The answers that were checked, the first one first. */
  get tries(): readonly unknown[] {
    const kept = keptAt(this.place);
    return Array.isArray(kept) ? kept.slice(0, 2) : [];
  }

  keep(tries: readonly unknown[]): void {
    keepAt(this.place, tries.length ? tries : undefined);
  }

  /** Calls when the answers to all questions are forgotten. */
  static onForgotten(call: () => void, signal: AbortSignal): void {
    document.addEventListener(FORGOTTEN, call, { signal });
  }

  /** Forgets the answers to all questions, and says how many there were. */
  static forgetAll(): number {
    const count = forgetFrom(PREFIX);
    TestState.forgetAll();
    document.dispatchEvent(new Event(FORGOTTEN));
    return count;
  }
}
