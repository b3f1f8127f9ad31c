// Keys that act from the whole widget, and single letters that act while the graph has the focus.
import type { Context } from "./context";
import { take } from "./dom";
import type { Find } from "./find";
import type { Graph } from "./graph";
import type { Help } from "./help";
import type { Playing } from "./play";
import type { Steps } from "./steps";

/** Where left and right are not taken by something else, they step. */
const STEPPING =
  ".gradviz-player, .gradviz-code, .gradviz-caption, .gradviz-cards, .gradviz-tensors";

export function listenForKeys(
  root: HTMLElement,
  context: Context,
  graph: Graph,
  find: Find,
  help: Help,
  steps: Steps,
  playing: Playing,
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
  const back = () => steps.take(steps.place - 1);
  const forward = () => steps.take(steps.place + 1);
  const anywhere: Record<string, () => void> = {
    "[": back,
    ",": back,
    "]": forward,
    ".": forward,
  };
  const stepping: Record<string, () => void> = {
    ArrowLeft: back,
    ArrowRight: forward,
    Home: () => steps.take(0),
    End: () => steps.take(steps.last),
  };
  const play = () => (playing.allowed() ? playing.toggle() : forward());

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
      take(event);
      act();
    } else if (event.key === "Escape" && store.get("selected")) {
      take(event);
      if (target.closest(".gradviz-inspector") && store.get("panel") === "graph") graph.focus();
      store.set("selected", "");
    } else if (event.key === "Escape" && context.tooltip.closedBy !== event) {
      take(event);
      leave(root);
    }
  });
}

/** Gives the focus back to what the widget stands in: the cell of a notebook, else the page. */
function leave(root: HTMLElement): void {
  for (const around of [".jp-Cell", "[tabindex]"]) {
    const place = root.parentElement?.closest<HTMLElement>(around);
    place?.focus();
    if (place && place === document.activeElement) return;
  }
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  else if (document.activeElement instanceof SVGElement) document.activeElement.blur();
}
