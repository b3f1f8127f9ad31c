// Puts the panels together. Each panel takes the context and reads the store; this file alone
// knows all of them.
import { makeCaption } from "./caption";
import { makeCards, makeWayDown } from "./card";
import { makeCode } from "./code";
import type { Context } from "./context";
import { html } from "./dom";
import { makeFind } from "./find";
import { makeGraph } from "./graph";
import { makeHelp } from "./help";
import { makeInspector } from "./inspector";
import { listenForKeys } from "./keys";
import { makeLegend } from "./legend";
import { makeOutline } from "./outline";
import { makePlaying } from "./play";
import { makePlayer } from "./player";
import { makeReport } from "./report";
import { isReport } from "./report_wire";
import { makeSaveMenu } from "./save";
import { Steps } from "./steps";
import type { Store } from "./store";
import { makeTabs } from "./tabs";
import { makeTensors } from "./tensors";
import { followTheme } from "./theme";
import { makeToolbar } from "./toolbar";
import { Tooltip } from "./tooltip";

/** Fills `root` with the whole interface. Throws when the wire cannot be shown. */
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
  const context: Context = { store, signal, prefix, tooltip, announce };

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
  const tabs = makeTabs(context, { graph: graph.element, outline });
  const toolbar = makeToolbar(context, graph.viewport, [menu.button, help.button]);
  const bar = html("div", { class: "gradviz-bar" }, tabs.bar, find.element, toolbar, menu.element);
  const steps = new Steps(store);
  const playing = makePlaying(context, steps);
  const code = makeCode(context, steps);
  const main = html("div", { class: "gradviz-main" }, code, ...tabs.panels, inspector);
  const cards = makeCards(context, steps);
  root.append(
    makePlayer(context, steps, playing),
    makeCaption(context, steps, makeWayDown(context, steps, cards)),
    makeReport(context),
    bar,
    main,
    cards,
    makeTensors(context, steps),
    makeLegend(context),
    help.element,
    tooltip.element,
    live,
  );
  listenForKeys(root, context, graph, find, help, steps, playing);
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
    const item = store.get("facts").items.find(({ id }) => id === selected);
    // Python may select in a picture that is still on its way.
    if (selected !== "" && item === undefined) return;
    if (before !== undefined && before !== selected) {
      announce(item ? `selected: ${item.aria}` : "nothing selected");
    }
    before = selected;
  });
}
