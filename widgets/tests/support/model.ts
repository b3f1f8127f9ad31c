// A model as anywidget gives it, without a kernel.

import type { GraphDocument } from "../../src/documents/graph";
import type { Model } from "../../src/model/store";
import loss from "../fixtures/loss.json";

export const wire = loss as unknown as GraphDocument;

export class FakeModel implements Model {
  readonly state: Record<string, unknown>;
  readonly sent: Record<string, unknown>[] = [];
  #dirty: Record<string, unknown> = {};
  #listeners = new Map<string, Set<() => void>>();

  constructor(state: Record<string, unknown> = {}) {
    this.state = {
      wire,
      selected: "",
      height: 0,
      engine_arrows: false,
      density: "auto",
      theme: "auto",
      ...state,
    };
  }

  get(name: string): unknown {
    return this.state[name];
  }

  set(name: string, value: unknown): void {
    this.state[name] = value;
    this.#dirty[name] = value;
    for (const listener of [...(this.#listeners.get(`change:${name}`) ?? [])]) listener();
  }

  save_changes(): void {
    this.sent.push(this.#dirty);
    this.#dirty = {};
  }

  on(event: string, listener: () => void): void {
    this.#listeners.set(event, (this.#listeners.get(event) ?? new Set()).add(listener));
  }

  off(event: string, listener: () => void): void {
    this.#listeners.get(event)?.delete(listener);
  }

  get listenerCount(): number {
    return [...this.#listeners.values()].reduce((sum, known) => sum + known.size, 0);
  }
}
