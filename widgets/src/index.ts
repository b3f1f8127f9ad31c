// The module that anywidget loads. `render` runs once per view.
import { mountApp } from "./app";
import { isQuestion, kindOf } from "./documents/question";
import { isRepairDocument } from "./documents/repair";
import { SCORE } from "./documents/score";
import { showFallback, showWaiting } from "./fallback";
import { followTheme } from "./frame/theme";
import { html, uniquePrefix } from "./lib/dom";
import { InflatedModel } from "./model/inflated_model";
import { tell } from "./model/kernel";
import { hear, type Model, Store } from "./model/store";
import { ANSWERED, mountForget } from "./question/forget";
import { mountQuestion } from "./question/question";
import { mountScore } from "./question/score";
import { mountRepair } from "./repair/repair";

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
  tell(model, { shown: true });
  const expanded = new InflatedModel(model, view.signal);
  if (!expanded.isReady) showWaiting(el);
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
      again.abort();
      // The document may come while the element is in no page: a view is attached when it likes.
      if (!signal.aborted && root.parentNode === el) mount(model, el, signal);
    };
    const again = new AbortController();
    hear(model, "change:wire", retry, again.signal);
    signal.addEventListener("abort", () => again.abort(), { once: true });
  };

  el.replaceChildren(root);
  try {
    const prefix = uniquePrefix();
    followTheme(root, model, attempt.signal);
    const wire = model.get("wire");
    if (isRepairDocument(wire)) mountRepair(root, model, attempt.signal, prefix, mount);
    else if (isQuestion(wire)) mountQuestion(root, model, attempt.signal, prefix, mount);
    else if (kindOf(wire) === ANSWERED) mountForget(root);
    else if (kindOf(wire) === SCORE) mountScore(root, model, attempt.signal);
    else mountApp(root, new Store(model, attempt.signal, fail), attempt.signal, prefix);
    root.dataset.ready = "true";
  } catch (error) {
    fail(error);
  }
}

export default { render };
