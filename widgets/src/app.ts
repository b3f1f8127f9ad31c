// Puts the panels together. Each panel takes the context and reads the store.

import { explorationOf } from "./documents/exploration";
import { isReport } from "./documents/report";
import { makeCards } from "./explanation/card";
import { heightOf, makeExplore } from "./explore/explore";
import { makeSaveMenu } from "./export/save_menu";
import { followPage } from "./export/saved_page";
import { showAfterRun } from "./frame/arrival";
import { makeFullScreen } from "./frame/full_screen";
import { followRoom } from "./frame/room";
import { makeSeparator } from "./frame/separator";
import { WHOLE } from "./graph/camera";
import { type GraphPanel, makeGraph } from "./graph/graph_panel";
import { makeToolbar } from "./graph/toolbar";
import { listenForKeys } from "./keys";
import { makeButton } from "./lib/button";
import { focusable, html, makeLive, onResize } from "./lib/dom";
import { icon } from "./lib/icons";
import { Tooltip } from "./lib/tooltip";
import type { Store } from "./model/store";
import type { PanelContext } from "./panel_context";
import { makeFind } from "./panels/find";
import { makeHelp } from "./panels/help";
import { makeInspector } from "./panels/inspector";
import { makeLegend } from "./panels/legend";
import { makeOutline } from "./panels/outline";
import { makeSheets } from "./panels/sheets";
import { makeCaption } from "./player/caption";
import { makeCode } from "./player/code";
import { makeControls } from "./player/controls";
import { keepsMemory, makeMemory } from "./player/memory";
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
  const [live, announce] = makeLive("status");
  const tooltip = new Tooltip(root, signal);
  const context: PanelContext = { store, signal, prefix, tooltip, announce };
  // A click between the controls gives the focus to the widget, not to the notebook.
  focusable(root, -1);

  store.watch(["wire"], () => root.setAttribute("aria-label", store.get("wire").title));

  const graph = makeGraph(context);
  const cursor = new StepCursor(store);
  const playback = makePlayback(context, cursor);
  const inspector = makeInspector(context, graph.folds);
  const find = makeFind(context, graph.folds, graph);
  const menu = makeSaveMenu(context);
  const help = makeHelp(context);
  const fullScreen = makeFullScreen(root, context);
  const recorded = () => store.get("timeline") !== undefined;
  const sheets = makeSheets(context, [
    {
      id: "tensors",
      label: "Tensors",
      content: makeTensors(context, cursor),
      offered: recorded,
    },
    {
      id: "memory",
      label: "Memory",
      content: makeMemory(context, cursor),
      offered: () => keepsMemory(store.get("timeline")),
    },
    {
      id: "legend",
      label: "Legend",
      content: makeLegend(context, graph.draws),
      offered: () =>
        recorded() || store.get("wire").legend.length > 0 || store.get("unfolding") !== undefined,
    },
    { id: "outline", label: "Outline", content: makeOutline(context), offered: () => true },
  ]);

  const details = makeButton(context, {
    label: "Details",
    words: "Details",
    icon: "details",
    hint: "Details of the selected node, or of the one that this is about (i)",
    run: inspector.toggle,
  });
  const whole = makeButton(context, {
    label: "Full screen",
    icon: "full",
    hint: "Full screen (f)",
    run: fullScreen.toggle,
  });
  fullScreen.onChange = (on) => {
    whole.replaceChildren(icon(on ? "window" : "full"));
    whole.setAttribute("aria-pressed", String(on));
  };
  for (const button of [details, help.button]) button.classList.add("closes-popover");
  const tools = makeToolbar(context, graph.viewport, graph.folds, {
    strip: [menu.button, whole],
    more: [details, help.button],
  });
  const bar = html("div", { class: "gradviz-bar" }, find.element, tools, menu.element);
  const stage = html("div", { class: "gradviz-stage" }, bar, graph.element, ...sheets.panels);
  coverGraph(context, graph, inspector.element);

  const code = makeCode(context, cursor);
  const cards = makeCards(context, cursor);
  const told = focusable(
    html("div", { class: "gradviz-told" }, makeCaption(context, cursor), cards),
  );
  const side = html("div", { class: "gradviz-side", id: `${prefix}-side` }, code, told);
  const body = html("div", { class: "gradviz-body" }, side, stage, inspector.element);
  stage.before(makeSeparator(context, side), ...makeExplore(context), makeReport(context));
  const foot = html(
    "div",
    { class: "gradviz-foot" },
    makeControls(context, cursor, playback),
    sheets.strip,
  );
  const frame = html("div", { class: "gradviz-frame" }, foot, body);
  root.append(frame, help.element, tooltip.element, live);
  listenForKeys(root, context, {
    ...{ graph, find, help, sheets, inspector, fullScreen, cursor, playback },
  });
  followPage(root, context, cursor);
  followRoom(root, signal);
  showAfterRun(root, signal);

  store.watch(["wire"], () => {
    const wire = store.get("wire");
    const timeline = store.get("timeline");
    root.classList.toggle("has-steps", timeline !== undefined);
    root.classList.toggle("has-code", !code.hidden);
    const cards = [...(timeline?.explained ?? []), ...(timeline?.noted ?? [])];
    root.classList.toggle("has-cards", cards.length > 0);
    root.classList.toggle("has-folds", wire.fold !== undefined);
    root.classList.toggle("has-report", isReport(wire));
    root.classList.toggle("has-no-picture", isReport(wire) && !wire.picture);
    const exploration = explorationOf(wire);
    root.classList.toggle("has-inputs", exploration !== undefined);
    root.classList.toggle("has-no-graph", exploration?.has_picture === false);
    // What the height follows from, without a measurement, so that nothing jumps.
    const lines = timeline?.recording.codes.reduce((sum, { lines }) => sum + lines.length + 1, 0);
    frame.style.setProperty("--lines", String(lines ?? 0));
    frame.style.setProperty("--inputs", `${exploration ? heightOf(exploration) : 0}px`);
  });
  graph.viewport.tell(({ width, height }, readable) => {
    const own = { width, height, readable, least: WHOLE * readable };
    for (const [name, value] of Object.entries(own)) {
      frame.style.setProperty(`--picture-${name}`, String(value));
    }
  });
  store.watch(["height"], () => {
    const height = store.get("height");
    frame.style.setProperty("--height", `${height}px`);
    frame.classList.toggle("is-fixed", height > 0);
  });

  let before: string | undefined;
  store.watch(["selected", "wire"], () => {
    const selected = store.get("selected");
    const item = store.get("content").items.find(({ id }) => id === selected);
    // Python may select in a picture that is not shown yet.
    if (selected !== "" && item === undefined) return;
    if (before !== undefined && before !== selected) {
      const where = item?.is_drawn === false ? ", not drawn" : "";
      announce(item ? `selected: ${item.aria}${where}` : "nothing selected");
    }
    before = selected;
  });
}

/** Tells the graph what the details lie over, so that its view keeps clear of them. */
function coverGraph(
  { signal, store }: PanelContext,
  graph: GraphPanel,
  details: HTMLElement,
): void {
  const measure = () => {
    const [over, under] = [details, graph.viewport.element].map((e) => e.getBoundingClientRect());
    if (!over || !under) return;
    const apart = over.bottom <= under.top || !over.width;
    const width = apart ? 0 : under.right - over.left;
    const height = apart ? 0 : under.bottom - over.top;
    // At one side of the graph or under it, whatever leaves more.
    const beside = width < under.width * 0.7;
    graph.viewport.cover({ width: beside ? width : 0, height: beside ? 0 : height });
  };
  store.watch(["selected", "details"], measure);
  onResize(details, signal, measure);
}
