// Questions to the kernel that are answered by a file. Messages carry them, not traits: what a trait
// holds is stored with the notebook.

import { hear, type Model } from "./store";

/** How long an answer may take that nobody can cancel. */
const PATIENCE = 20_000;
const NONE = 'this page has no kernel; in Python: save("steps.svg", animated=True)';
const CANCELLED = "no longer waited for";
const GONE = "the kernel that made this has ended: run the cell again";
const SILENT = "the kernel does not answer: run the cell again";

/** What a model of ipywidgets fires when its kernel restarts. */
const GONE_EVENT = "comm_live_update";

/** The animation of a recording, as SVG or as GIF; the next hint; the insides of folds; nodes that are found. */
export type Question =
  | "animation"
  | "gif"
  | "hint"
  | { readonly inside: readonly string[] }
  | { readonly find: string };

interface Answer {
  readonly answer: unknown;
  readonly error: string;
}

export class Kernel {
  readonly #model: Model;
  readonly #signal: AbortSignal;
  /** How many questions that can be cancelled have no answer yet, and when they have. */
  #open = 0;
  #answered: Promise<unknown> = Promise.resolve();

  constructor(model: Model, signal: AbortSignal) {
    this.#model = model;
    this.#signal = signal;
  }

  /** Whether there may be one: a saved page has none. */
  get isThere(): boolean {
    return this.#model.send !== undefined;
  }

  /** Asks for the other steps of a recording, which come as its document; false where no kernel is. */
  askForRest(): boolean {
    return tell(this.#model, { ask: "rest" });
  }

  /** Calls the listener when the notebook says that the kernel has ended; not every one does. */
  whenGone(listener: () => void): void {
    hear(this.#model, GONE_EVENT, listener, this.#signal);
  }

  /** The bytes that the kernel sends when it is asked for something.
   *
   * It may be busy: what can be cancelled is waited for until then; after `cancel` its answer is
   * not. Such questions are sent one after the other: the kernel does not work through those that
   * nobody waits for any more. */
  ask(what: Question, cancel?: AbortSignal): Promise<DataView<ArrayBuffer>> {
    if (!cancel) return this.#send(what);
    const asked = this.#open
      ? this.#answered.then(() => this.#send(what, cancel))
      : this.#send(what, cancel);
    this.#open++;
    const end = () => void this.#open--;
    this.#answered = asked.then(end, end);
    return Promise.race([asked, cancelled(cancel)]);
  }

  #send(what: Question, cancel?: AbortSignal): Promise<DataView<ArrayBuffer>> {
    if (cancel?.aborted) return Promise.reject(new Error(CANCELLED));
    const model = this.#model;
    // Every view of a widget gets every answer.
    const number = `${Date.now()}-${Math.random()}`;
    return new Promise((resolve, reject) => {
      if (!model.send) throw new Error(NONE);
      const end = () => {
        clearTimeout(timer);
        model.off?.("msg:custom", listen);
      };
      const listen = (content?: unknown, buffers?: readonly DataView<ArrayBuffer>[]) => {
        const { answer, error } = (content ?? {}) as Partial<Answer>;
        if (answer !== number) return;
        end();
        const [bytes] = buffers ?? [];
        if (bytes) resolve(bytes);
        else reject(new Error(error || SILENT));
      };
      const late = () => {
        end();
        reject(new Error(SILENT));
      };
      const timer = cancel ? undefined : setTimeout(late, PATIENCE);
      this.#signal.addEventListener("abort", end, { once: true });
      model.on("msg:custom", listen);
      if (tell(model, { ask: what, number })) return;
      end();
      reject(new Error(GONE));
    });
  }
}

/** Sends a message that may have no answer; false where the kernel that made the widget has ended. */
export function tell(model: Model, message: unknown): boolean {
  try {
    model.send?.(message);
    return model.send !== undefined;
  } catch {
    return false;
  }
}

export function cancelled(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error(CANCELLED)), { once: true });
  });
}
