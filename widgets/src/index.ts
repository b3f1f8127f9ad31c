// The module that anywidget loads. `render` runs once per view.
import { mountApp } from "./app";
import { showFallback } from "./fallback";
import { html, uniquePrefix } from "./lib/dom";
import { InflatedModel } from "./model/inflated_model";
import { type Model, Store } from "./model/store";

interface RenderProps {
  readonly model: Model;
  readonly el: HTMLElement;
  readonly signal?: AbortSignal;
}

function render({ model, el, signal }: RenderProps): () => void {
  const view = new AbortController();
  const end = () => {
    view.abort();
    el.replaceChildren();
  };
  signal?.addEventListener("abort", end, { once: true, signal: view.signal });
  const expanded = new InflatedModel(model, view.signal);
  expanded.whenReady(() => mount(expanded, el, view.signal));
  return end;
}

/** Shows the interface, or what can be shown without it until the next picture arrives. */
function mount(model: Model, el: HTMLElement, signal: AbortSignal): void {
  const root = html("div", {
    class: "gradviz-root",
    role: "group",
    "aria-label": "autograd graph",
  });
  const attempt = new AbortController();
  const end = () => attempt.abort();
  signal.addEventListener("abort", end, { once: true, signal: attempt.signal });

  const fail = (error: unknown) => {
    end();
    console.error("gradviz:", error);
    showFallback(root, model.get("wire"), error);
    const retry = () => {
      model.off?.("change:wire", retry);
      if (!signal.aborted && root.isConnected) mount(model, el, signal);
    };
    model.on("change:wire", retry);
    signal.addEventListener("abort", () => model.off?.("change:wire", retry), { once: true });
  };

  el.replaceChildren(root);
  try {
    mountApp(root, new Store(model, attempt.signal, fail), attempt.signal, uniquePrefix());
    root.dataset.ready = "true";
  } catch (error) {
    fail(error);
  }
}

export default { render };
