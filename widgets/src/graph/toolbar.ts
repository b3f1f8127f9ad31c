// The tools of the graph: the most used in a slim strip, the others behind a button. The strip is one
// tab stop, arrow keys inside (ARIA Authoring Practices, toolbar pattern).

import { makeButton, type Tool } from "../lib/button";
import { html } from "../lib/dom";
import { makePopover } from "../lib/popover";
import { roveTabindex } from "../lib/roving";
import type { PanelContext } from "../panel_context";
import { makeDensityControl } from "./density";
import type { FoldActions } from "./fold_actions";
import { makeFoldAll } from "./levels";
import type { Viewport } from "./viewport";

export function makeToolbar(
  context: PanelContext,
  viewport: Viewport,
  folds: FoldActions,
  /** Buttons of the strip, and of the panel of other tools. */
  extra: { readonly strip: readonly Node[]; readonly more: readonly Node[] },
): HTMLElement {
  const { store, prefix, announce } = context;
  const button = (tool: Tool) => makeButton(context, tool);
  const percent = button({
    label: "Zoom to 100 %",
    hint: "Zoom to 100 % (1)",
    run: () => viewport.actualSize(),
  });
  percent.classList.add("gradviz-percent");
  viewport.onZoom = (k) => {
    const shown = `${Math.round(k * 100)} %`;
    percent.textContent = shown;
    percent.setAttribute("aria-label", `${shown}, zoom to 100 %`);
  };
  const engine = button({
    label: "Engine arrows",
    words: "Engine arrows",
    icon: "engine",
    hint: "Arrows as the engine follows them: next_functions, from the output to the leaves",
    run: () => {
      store.set("engine_arrows", !store.get("engine_arrows"));
      announce(
        store.get("engine_arrows") ? "arrows follow next_functions" : "arrows follow the data",
      );
    },
  });
  store.watch(["engine_arrows"], () => {
    engine.setAttribute("aria-pressed", String(store.get("engine_arrows")));
  });
  const zoom = html(
    "div",
    { class: "gradviz-group", role: "group", "aria-label": "Zoom" },
    button({
      label: "Zoom out",
      icon: "minus",
      hint: "Zoom out (−)",
      run: () => viewport.zoom(1 / 1.25),
    }),
    percent,
    button({ label: "Zoom in", icon: "plus", hint: "Zoom in (+)", run: () => viewport.zoom(1.25) }),
  );
  const fit = button({
    label: "Fit",
    words: "Fit",
    hint: "Show the whole graph (0); again: back to where it was",
    run: () => viewport.fit(),
  });
  const more = makePopover(
    context,
    "More tools",
    { label: "More tools", icon: "more", hint: "Zoom, engine arrows, details, keys" },
    zoom,
    viewport.pad,
    engine,
    makeFoldAll(context, folds),
    ...extra.more,
  );
  const props = {
    class: "gradviz-toolbar",
    role: "toolbar",
    "aria-label": "Graph tools",
    id: `${prefix}-tools`,
  };
  const bar = html("div", props, makeDensityControl(context), fit, ...extra.strip, more.button);
  roveTabindex(bar);
  return html("div", { class: "gradviz-strip-tools" }, bar, more.element);
}
