// What the marks of this picture mean; only marks that it contains.
import type { Context } from "./context";
import { focusable, html } from "./dom";
import { makeSwatch } from "./swatch";

export function makeLegend({ store }: Context): HTMLElement {
  const list = html("ul");
  const summary = focusable(html("summary", {}, "Legend"));
  const element = html("details", { class: "gradviz-legend", open: true }, summary, list);
  store.watch(["wire"], () => {
    const { legend } = store.get("wire");
    element.hidden = !legend.length;
    const entries = legend.map((entry) => html("li", {}, makeSwatch(entry.class), entry.label));
    list.replaceChildren(...entries);
  });
  store.watch(["engine_arrows"], () => {
    list.classList.toggle("gv-engine", store.get("engine_arrows"));
  });
  return element;
}
