// The player of the run that gave the key, inside a question.
import { mountApp } from "../app";
import type { RecordingDocument } from "../documents/recording";
import { showFallback } from "../fallback";
import { html, uniquePrefix } from "../lib/dom";
import { LocalModel } from "../model/local_model";
import { type Model, Store } from "../model/store";

export function makePlayer(
  wire: RecordingDocument,
  around: Model,
  signal: AbortSignal,
): HTMLElement {
  const props = { class: "gradviz-root", role: "group", "aria-label": "recording of this program" };
  const root = html("div", props);
  const state = { wire, selected: "", height: 0, engine_arrows: false, density: "auto" };
  const model = new LocalModel({ ...state, step: -1, detail: false, speed: 1 }, around);
  const fail = (error: unknown) => showFallback(root, wire, error);
  try {
    mountApp(root, new Store(model, signal, fail), signal, uniquePrefix());
    root.dataset.ready = "true";
  } catch (error) {
    fail(error);
  }
  return root;
}
