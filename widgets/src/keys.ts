// Keys that act from the whole widget, and single letters that act while the graph has the focus.

import type { FullScreen } from "./frame/full_screen";
import { nextDensity, showDensity } from "./graph/density";
import { drawAround } from "./graph/extent";
import type { GraphPanel } from "./graph/graph_panel";
import { ARROWS } from "./graph/viewport";
import { claim, focusable } from "./lib/dom";
import type { PanelContext } from "./panel_context";
import type { Find } from "./panels/find";
import type { Help } from "./panels/help";
import type { Inspector } from "./panels/inspector";
import type { Sheets } from "./panels/sheets";
import type { Playback } from "./player/playback";
import type { StepCursor } from "./player/step_cursor";
import { stepKeys } from "./player/step_keys";

/** Panels in which left and right step. */
const STEPPING =
  ".gradviz-player, .gradviz-code, .gradviz-caption, .gradviz-cards, .gradviz-tensors";

/** What keys act on. */
export interface Parts {
  readonly graph: GraphPanel;
  readonly find: Find;
  readonly help: Help;
  readonly sheets: Sheets;
  readonly inspector: Inspector;
  readonly fullScreen: FullScreen;
  readonly cursor: StepCursor;
  readonly playback: Playback;
}

export function listenForKeys(root: HTMLElement, context: PanelContext, parts: Parts): void {
  const { store } = context;
  const { graph, find, help, sheets, inspector, fullScreen, cursor, playback } = parts;
  const { viewport } = graph;
  const letters: Record<string, () => void> = {
    "+": () => viewport.zoom(1.25),
    "=": () => viewport.zoom(1.25),
    "-": () => viewport.zoom(1 / 1.25),
    "0": () => viewport.fit(),
    "1": () => viewport.actualSize(),
    "/": () => find.focus(),
    g: () => void find.go(1),
    G: () => void find.go(-1),
    o: () => sheets.open("outline"),
    d: () => showDensity(context, nextDensity(store)),
    e: () => store.set("engine_arrows", !store.get("engine_arrows")),
    u: () => graph.folds.foldAround(graph.current()),
    m: () => graph.folds.toggleOnly(graph.current()),
  };
  const move = (key: string) => ARROWS[key] && (() => viewport.pan(ARROWS[key] ?? "up"));
  const { anywhere, stepping } = stepKeys(context, cursor);
  const everywhere: Record<string, () => void> = {
    "?": help.open,
    f: fullScreen.toggle,
    p: fullScreen.present,
    i: inspector.toggle,
    n: () =>
      store.get("unfolding")
        ? void graph.folds.neighbourhood(graph.current())
        : drawAround(context, store.get("selected")),
  };
  const play = () => (playback.allowed() ? playback.toggle() : anywhere["]"]?.());

  /** What a key does on a recording, beside what it does on every graph. */
  function stepOf(key: string, target: Element): (() => void) | undefined {
    if (!store.get("timeline")) return undefined;
    if (anywhere[key]) return anywhere[key];
    if (!target.closest(STEPPING)) return undefined;
    return key === " " && !target.matches("button") ? play : stepping[key];
  }

  root.addEventListener("keydown", (event) => {
    const target = event.target as Element;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (target.matches("input:not([type=range]), select")) return;
    const inGraph = graph.element.contains(target);
    const act =
      everywhere[event.key] ??
      stepOf(event.key, target) ??
      (inGraph
        ? ((event.shiftKey ? move(event.key) : undefined) ?? letters[event.key])
        : undefined);
    if (act) {
      claim(event);
      act();
    } else if (event.key === "Escape") {
      claim(event);
      // What has the focus first, the largest last.
      const open = [inspector.close, sheets.close, fullScreen.leave];
      if (target.closest(".gradviz-panel")) open.unshift(sheets.close);
      const closed = open.some((close) => close());
      if (!closed && context.tooltip.closedBy !== event) leave(root);
    }
  });
  // JupyterLab takes the keys of whatever has the focus and does not say that it keeps them.
  root.addEventListener("focusin", ({ target }) => focusable(target as Element));
}

/** Moves the focus out of the widget: to the cell of the notebook, else to the page. */
function leave(root: HTMLElement): void {
  for (const around of [".jp-Cell", "[tabindex]"]) {
    const place = root.parentElement?.closest<HTMLElement>(around);
    place?.focus();
    if (place && place === document.activeElement) return;
  }
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  else if (document.activeElement instanceof SVGElement) document.activeElement.blur();
}
