// Above a folded graph: where in it the picture, or what is selected, is. Each part leads there.

import { focusable, html, refill } from "../lib/dom";
import { roveTabindex } from "../lib/roving";
import type { PanelContext } from "../panel_context";
import type { FoldActions } from "./fold_actions";
import { makeLevels } from "./levels";

export function makeCrumbs(context: PanelContext, actions: FoldActions): HTMLElement {
  const { store, tooltip } = context;
  const way = html("div", { class: "gradviz-way" });
  const note = html("p", { class: "gradviz-fold-note" });
  const row = html("div", { class: "gradviz-crumbs-row" }, makeLevels(context, actions), way);
  const element = html("div", { class: "gradviz-crumbs", hidden: true }, row, note);
  store.watch(["unfolding", "selected", "limited"], () => {
    const now = store.get("unfolding");
    element.hidden = !now;
    if (!now) return;
    const { folds, root } = now;
    const selected = store.get("selected");
    const at = selected && (folds.get(selected) || folds.item(selected)) ? selected : root;
    const around = [...folds.around(at), at];
    const buttons = around.map((id) => {
      const props = {
        type: "button",
        class: "gradviz-crumb",
        "aria-current": id === root ? "true" : undefined,
      };
      const button = focusable(html("button", props, folds.crumb(id)));
      const full = folds.get(id)?.label ?? folds.item(id)?.label ?? id;
      const isOut = folds.around(root).includes(id);
      tooltip.attach(button, () => (isOut ? `${full}: show all of it` : full));
      button.addEventListener("click", () => {
        if (isOut) void actions.only(id);
        else if (id === root) store.set("selected", "");
        else store.set("selected", id);
      });
      return button;
    });
    const props = { role: "toolbar", "aria-label": "Where this is in the model" };
    const bar = html("div", props, ...buttons);
    roveTabindex(bar);
    refill(way, buttons.at(-1) ?? way, bar);
    // Where there are many, the last ones are seen.
    bar.scrollLeft = bar.scrollWidth;
    const said = [store.get("limited"), root === folds.top ? folds.note : ""];
    note.textContent = said.filter(Boolean).join(" ");
    note.hidden = !note.textContent;
  });
  return element;
}
