// Keys that act from the whole widget, and single letters that act while the graph has the focus.

import type { GraphPanel } from "./graph/graph_panel";
import { claim } from "./lib/dom";
import type { PanelContext } from "./panel_context";
import type { Find } from "./panels/find";
import type { Help } from "./panels/help";
import type { Playback } from "./player/playback";
import type { StepCursor } from "./player/step_cursor";

/** Panels in which left and right step. */
const STEPPING =
  ".gradviz-player, .gradviz-code, .gradviz-caption, .gradviz-cards, .gradviz-tensors";

export function listenForKeys(
  root: HTMLElement,
  context: PanelContext,
  graph: GraphPanel,
  find: Find,
  help: Help,
  cursor: StepCursor,
  playback: Playback,
): void {
  const { store } = context;
  const { viewport } = graph;
  const letters: Record<string, () => void> = {
    "+": () => viewport.zoom(1.25),
    "=": () => viewport.zoom(1.25),
    "-": () => viewport.zoom(1 / 1.25),
    "0": () => viewport.fit(),
    "1": () => viewport.actualSize(),
    "/": () => find.focus(),
    o: () => {
      store.set("panel", "outline");
      root.querySelector<HTMLElement>(".gradviz-outline button[tabindex='0']")?.focus();
    },
    e: () => store.set("engine_arrows", !store.get("engine_arrows")),
  };
  const moves: Record<string, () => void> = {
    ArrowUp: () => viewport.pan("up"),
    ArrowDown: () => viewport.pan("down"),
    ArrowLeft: () => viewport.pan("left"),
    ArrowRight: () => viewport.pan("right"),
  };
  const back = () => cursor.go(cursor.place - 1);
  const forward = () => cursor.go(cursor.place + 1);
  const anywhere: Record<string, () => void> = {
    "[": back,
    ",": back,
    "]": forward,
    ".": forward,
  };
  const stepping: Record<string, () => void> = {
    ArrowLeft: back,
    ArrowRight: forward,
    Home: () => cursor.go(0),
    End: () => cursor.go(cursor.last),
  };
  const play = () => (playback.allowed() ? playback.toggle() : forward());

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
      event.key === "?"
        ? help.open
        : (stepOf(event.key, target) ??
          (inGraph
            ? event.shiftKey
              ? (moves[event.key] ?? letters[event.key])
              : letters[event.key]
            : undefined));
    if (act) {
      claim(event);
      act();
    } else if (event.key === "Escape" && store.get("selected")) {
      claim(event);
      if (target.closest(".gradviz-inspector") && store.get("panel") === "graph") graph.focus();
      store.set("selected", "");
    } else if (event.key === "Escape" && context.tooltip.closedBy !== event) {
      claim(event);
      leave(root);
    }
  });
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
