// The model of one view with its document inflated, which takes time: `change:wire` fires when the
// new document can be read; until then the old one stays.

import { inflateDocument } from "../documents/parse";
import { hear, type Listener, type Model } from "./store";

export class InflatedModel implements Model {
  readonly #model: Model;
  readonly #listeners = new Set<Listener>();
  /** The document, an Error if it cannot be read; undefined until the first one. */
  #wire: unknown;
  /** Counts changes: of two documents that are being inflated, only the newer is shown. */
  #turn = 0;

  constructor(model: Model, signal: AbortSignal) {
    this.#model = model;
    hear(model, "change:wire", () => this.#inflate(), signal);
    signal.addEventListener("abort", () => {
      this.#turn += 1;
    });
    this.#inflate();
  }

  /** Whether there is a document, or a reason why there is none. */
  get isReady(): boolean {
    return this.#wire !== undefined;
  }

  /** Calls the listener as soon as there is a document, or a reason why there is none. */
  whenReady(listener: () => void): void {
    const once = () => {
      this.off("change:wire", once);
      listener();
    };
    if (this.#wire === undefined) this.on("change:wire", once);
    else listener();
  }

  get(name: string): unknown {
    return name === "wire" ? this.#wire : this.#model.get(name);
  }

  set(name: string, value: unknown): void {
    this.#model.set(name, value);
  }

  save_changes(): void {
    this.#model.save_changes();
  }

  get send(): Model["send"] {
    const model = this.#model;
    return model.send && ((content) => model.send?.(content));
  }

  on(event: string, listener: Listener): void {
    if (event === "change:wire") this.#listeners.add(listener);
    else this.#model.on(event, listener);
  }

  off(event: string, listener: Listener): void {
    if (event === "change:wire") this.#listeners.delete(listener);
    else this.#model.off?.(event, listener);
  }

  #inflate(): void {
    const sent = this.#model.get("wire");
    // A view may be made before the state of its model has come.
    if (!isSent(sent)) return;
    const turn = ++this.#turn;
    const arrived = (wire: unknown) => {
      if (turn !== this.#turn) return;
      this.#wire = wire;
      for (const listener of [...this.#listeners]) listener();
    };
    const wire = inflateDocument(sent);
    if (wire instanceof Promise) void wire.catch((error: unknown) => error).then(arrived);
    else arrived(wire);
  }
}

function isSent(wire: unknown): boolean {
  const isObject = typeof wire === "object" && wire !== null;
  return isObject ? Object.keys(wire).length > 0 : wire !== undefined && wire !== null;
}
