// A model of a widget inside another one: its traits live in this page only.
import type { Listener, Model } from "./store";

const THEME = "theme";

/** What is set stays in this view; with a model `around` it, the theme is that one's. */
export class LocalModel implements Model {
  readonly #state: Record<string, unknown>;
  readonly #around: Model | undefined;
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(state: Record<string, unknown>, around?: Model) {
    this.#state = { ...state };
    this.#around = around;
  }

  get(name: string): unknown {
    return this.#around && name === THEME ? this.#around.get(name) : this.#state[name];
  }

  set(name: string, value: unknown): void {
    this.#state[name] = value;
    for (const listener of [...(this.#listeners.get(`change:${name}`) ?? [])]) listener();
  }

  save_changes(): void {}

  on(event: string, listener: Listener): void {
    if (event === `change:${THEME}`) this.#around?.on(event, listener);
    const known = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, known.add(listener));
  }

  off(event: string, listener: Listener): void {
    if (event === `change:${THEME}`) this.#around?.off?.(event, listener);
    this.#listeners.get(event)?.delete(listener);
  }
}
