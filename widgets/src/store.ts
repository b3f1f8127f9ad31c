// State: the traits shared with Python and what only this view knows. Beside expanded.ts the only
// file that touches the model; panels read and watch the store and never talk to each other.
import { parseWire, type Wire } from "./wire";

export type Theme = "auto" | "light" | "dark";

/** What anywidget hands to render; also implemented by the page that gradviz exports. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, listener: () => void): void;
  off?(event: string, listener: () => void): void;
}

/** Names are those of the Python traits. */
export interface Traits {
  readonly wire: Wire;
  readonly selected: string;
  readonly height: number;
  readonly engine_arrows: boolean;
  readonly theme: Theme;
}

export type Panel = "graph" | "outline";

export interface Local {
  readonly panel: Panel;
  /** What find looks for. */
  readonly query: string;
  /** Id that the pointer or the focus is on, "" if none. */
  readonly lit: string;
}

export type State = Traits & Local;

const TRAITS: { readonly [K in keyof Traits]: (value: unknown) => Traits[K] } = {
  wire: parseWire,
  selected: (value) => (typeof value === "string" ? value : ""),
  height: (value) => (typeof value === "number" && value > 0 ? value : 0),
  engine_arrows: (value) => value === true,
  theme: (value) => (value === "light" || value === "dark" ? value : "auto"),
};

export class Store {
  readonly #model: Model;
  readonly #signal: AbortSignal;
  readonly #onError: (error: unknown) => void;
  #local: Local = { panel: "graph", query: "", lit: "" };
  #wire: Wire | undefined;
  #listeners = new Map<keyof State, Set<() => void>>();

  constructor(model: Model, signal: AbortSignal, onError: (error: unknown) => void) {
    this.#model = model;
    this.#signal = signal;
    this.#onError = onError;
    for (const name of Object.keys(TRAITS) as (keyof Traits)[]) {
      const changed = () => {
        if (name === "wire") this.#wire = undefined;
        this.#notify(name);
      };
      model.on(`change:${name}`, changed);
      signal.addEventListener("abort", () => model.off?.(`change:${name}`, changed));
    }
    signal.addEventListener("abort", () => this.#listeners.clear());
  }

  get<K extends keyof State>(name: K): State[K] {
    if (name === "wire") {
      this.#wire ??= parseWire(this.#model.get("wire"));
      return this.#wire as State[K];
    }
    if (name in TRAITS) {
      return TRAITS[name as keyof Traits](this.#model.get(name)) as State[K];
    }
    return (this.#local as State)[name];
  }

  set<K extends Exclude<keyof State, "wire">>(name: K, value: State[K]): void {
    if (this.get(name) === value) return;
    if (name in TRAITS) {
      this.#model.set(name, value);
      this.#model.save_changes();
    } else {
      this.#local = { ...this.#local, [name]: value };
      this.#notify(name);
    }
  }

  /** Calls the listener now and whenever one of the names changes, until the view is gone. */
  watch(names: readonly (keyof State)[], listener: () => void): void {
    for (const name of names) {
      const known = this.#listeners.get(name) ?? new Set();
      this.#listeners.set(name, known.add(listener));
    }
    listener();
  }

  #notify(name: keyof State): void {
    if (this.#signal.aborted) return;
    try {
      for (const listener of this.#listeners.get(name) ?? []) listener();
    } catch (error) {
      this.#onError(error);
    }
  }
}
