// Puts the panels together. Each panel takes the context and reads the store.

import { isReport } from "./documents/report";
import { makeCards, makeWhyButton } from "./explanation/card";
import { makeSaveMenu } from "./export/save_menu";
import { makeGraph } from "./graph/graph_panel";
import { makeToolbar } from "./graph/toolbar";
import { listenForKeys } from "./keys";
import { html } from "./lib/dom";
import { makeTabs } from "./lib/tabs";
import { followTheme } from "./lib/theme";
import { Tooltip } from "./lib/tooltip";
import type { Panel, Store } from "./model/store";
import type { PanelContext } from "./panel_context";
import { makeFind } from "./panels/find";
import { makeHelp } from "./panels/help";
import { makeInspector } from "./panels/inspector";
import { makeLegend } from "./panels/legend";
import { makeOutline } from "./panels/outline";
import { makeCaption } from "./player/caption";
import { makeCode } from "./player/code";
import { makeControls } from "./player/controls";
import { makePlayback } from "./player/playback";
import { StepCursor } from "./player/step_cursor";
import { makeTensors } from "./player/tensors";
import { makeReport } from "./report/report";

/** Fills `root` with the whole interface. Throws when the document cannot be shown. */
export function mountApp(
  root: HTMLElement,
  store: Store,
  signal: AbortSignal,
  prefix: string,
): void {
  const live = html("div", { class: "gradviz-hidden", role: "status", "aria-live": "polite" });
  const announce = (sentence: string) => {
    live.textContent = sentence;
  };
  const tooltip = new Tooltip(root, signal);
  const context: PanelContext = { store, signal, prefix, tooltip, announce };

  const update = followTheme(
    () => store.get("theme"),
    (shade) => root.setAttribute("data-theme", shade),
    signal,
  );
  store.watch(["theme"], update);
  store.watch(["wire"], () => root.setAttribute("aria-label", store.get("wire").title));

  const graph = makeGraph(context);
  const outline = makeOutline(context);
  const inspector = makeInspector(context);
  const find = makeFind(context);
  const menu = makeSaveMenu(context);
  const help = makeHelp(context);
  const tabs = makeTabs<Panel>(
    { label: "View", prefix, panelClass: "gradviz-panel" },
    [
      { id: "graph", label: "Graph", content: graph.element },
      { id: "outline", label: "Outline", content: outline },
    ],
    (id) => store.set("panel", id),
  );
  store.watch(["panel"], () => tabs.show(store.get("panel")));
  const toolbar = makeToolbar(context, graph.viewport, [menu.button, help.button]);
  const bar = html("div", { class: "gradviz-bar" }, tabs.bar, find.element, toolbar, menu.element);
  const cursor = new StepCursor(store);
  const playback = makePlayback(context, cursor);
  const code = makeCode(context, cursor);
  const main = html("div", { class: "gradviz-main" }, code, ...tabs.panels, inspector);
  const cards = makeCards(context, cursor);
  root.append(
    makeControls(context, cursor, playback),
    makeCaption(context, cursor, makeWhyButton(context, cursor, cards)),
    makeReport(context),
    bar,
    main,
    cards,
    makeTensors(context, cursor),
    makeLegend(context),
    help.element,
    tooltip.element,
    live,
  );
  listenForKeys(root, context, graph, find, help, cursor, playback);
  store.watch(["timeline"], () => {
    root.classList.toggle("has-steps", store.get("timeline") !== undefined);
    root.classList.toggle("has-code", !code.hidden);
  });

  store.watch(["wire"], () => {
    const wire = store.get("wire");
    root.classList.toggle("has-report", isReport(wire));
    root.classList.toggle("has-no-picture", isReport(wire) && !wire.picture);
  });

  let before: string | undefined;
  store.watch(["selected", "wire"], () => {
    const selected = store.get("selected");
    const item = store.get("content").items.find(({ id }) => id === selected);
    // Python may select in a picture that is not shown yet.
    if (selected !== "" && item === undefined) return;
    if (before !== undefined && before !== selected) {
      announce(item ? `selected: ${item.aria}` : "nothing selected");
    }
    before = selected;
  });
}
