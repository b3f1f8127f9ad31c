// What was answered, kept in the storage of this browser by question and digest; never in the
// notebook. Where there is no storage it lasts as long as the page.
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
    try {
      const kept: unknown = JSON.parse(localStorage.getItem(this.place) ?? "[]");
      return Array.isArray(kept) ? kept.slice(0, 2) : [];
    } catch {
      return [];
    }
  }

  keep(tries: readonly unknown[]): void {
    try {
      if (tries.length) localStorage.setItem(this.place, JSON.stringify(tries));
      else localStorage.removeItem(this.place);
    } catch {
      // No storage, or no room in it.
    }
  }

  /** Calls when the answers to all questions are forgotten. */
  static onForgotten(call: () => void, signal: AbortSignal): void {
    document.addEventListener(FORGOTTEN, call, { signal });
  }

  /** Forgets the answers to all questions, and says how many there were. */
  static forgetAll(): number {
    let count = 0;
    try {
      const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
      for (const key of keys) localStorage.removeItem(key);
      count = keys.length;
      TestState.forgetAll();
    } catch {
      // No storage: nothing is kept.
    }
    document.dispatchEvent(new Event(FORGOTTEN));
    return count;
  }
}
