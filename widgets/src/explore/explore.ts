// A function with its inputs: controls beside its graph, and above the graph what changed.
import { type Control, type Exploration, explorationOf } from "../documents/exploration";
import { action } from "../lib/button";
import { focusable, html } from "../lib/dom";
import type { PanelContext } from "../panel_context";
import { makeInputs } from "./inputs";
import { Requests } from "./requests";
import { makeResults } from "./results";

/** Characters of a result that have room in large type. */
const LARGEST = 9;

/** About how high the inputs are in pixels, so that the height is known before they are drawn. */
export function heightOf({ controls, results }: Exploration): number {
  const rowsOf = ({ parts, columns }: Control) => {
    const fields = parts.filter(({ kind }) => kind !== "switch").length;
    if (!fields) return 28;
    const hasSlider = parts.some((part) => part.kind === "number" && part.slider);
    const isMatrix = fields > columns;
    return 38 + (hasSlider ? 26 : 0) + (isMatrix ? 30 * (fields / columns) : 0);
  };
  const around = 84 + 40 * results.length;
  return controls.reduce((sum, control) => sum + rowsOf(control), around);
}

/** The name and the value of a result, in large type where there is room for it. */
function resultOf({ name, value }: Exploration["results"][number]): HTMLElement {
  const css = value.length > LARGEST ? "gradviz-value is-long" : "gradviz-value";
  const shown = html("strong", {}, value);
  return html("div", { class: css }, html("span", { class: "is-quiet" }, `${name} =`), " ", shown);
}

/** The inputs, and what the last run left; both hidden where no function is explored. */
export function makeExplore(context: PanelContext): readonly [HTMLElement, HTMLElement] {
  const { store, prefix, signal, announce } = context;
  const requests = new Requests(store, signal, () => showProgress());
  const inputs = makeInputs(context, requests);
  const results = makeResults(context);

  const title = html("div", { class: "gradviz-heading", id: `${prefix}-inputs` });
  const values = html("div", { class: "gradviz-values" });
  const code = html("textarea", {
    class: "gradviz-source",
    readonly: true,
    "aria-label": "Python",
  });
  focusable(code);
  code.hidden = true;
  const reset = action("Reset", () => {
    if (requests.isOpen) inputs.reset();
  });
  const copy = action("Copy code", async () => {
    try {
      await navigator.clipboard.writeText(code.value);
      announce("copied the code");
    } catch {
      show.click();
      announce("the browser does not let this page copy: the code is selected");
    }
  });
  const show = action("Show code", () => {
    code.hidden = !code.hidden;
    show.setAttribute("aria-expanded", String(!code.hidden));
    if (!code.hidden) code.select();
  });
  show.setAttribute("aria-expanded", "false");

  // No section element: in a deck of slides each is a slide.
  const panel = html("div", {
    class: "gradviz-inputs",
    role: "region",
    "aria-labelledby": title.id,
  });
  const buttons = html("div", { class: "gradviz-group" }, reset, copy, show);
  const head = html("div", { class: "gradviz-explored" }, title, values);
  panel.append(head, inputs.element, buttons);
  const above = html("div", { class: "gradviz-above" }, results.element, code);

  let shown: Exploration | undefined;
  const showProgress = () => {
    const { progress, isOpen } = requests;
    results.say(progress);
    inputs.element.disabled = !isOpen;
    reset.setAttribute("aria-disabled", String(!isOpen));
    if (shown) results.show(shown, isOpen);
  };
  let isStarted = false;
  store.watch(["wire"], () => {
    const exploration = explorationOf(store.get("wire"));
    panel.hidden = above.hidden = exploration === undefined;
    if (!exploration || exploration === shown) return;
    shown = exploration;
    above.classList.toggle("is-old", exploration.has_failed);
    title.textContent = exploration.title;
    values.replaceChildren(...exploration.results.map(resultOf));
    code.value = exploration.code;
    code.rows = Math.min(12, exploration.code.split("\n").length);
    inputs.show(exploration);
    if (!isStarted) requests.start();
    isStarted = true;
    showProgress();
  });
  return [panel, above];
}
