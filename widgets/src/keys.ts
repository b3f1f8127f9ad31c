// Keys that act from the whole widget, and single letters that act while the graph has the focus.
import type { Context } from "./context";
import { take } from "./dom";
import type { Find } from "./find";
import type { Graph } from "./graph";
import type { Help } from "./help";

export function listenForKeys(
  root: HTMLElement,
  context: Context,
  graph: Graph,
  find: Find,
  help: Help,
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
  root.addEventListener("keydown", (event) => {
    const target = event.target as Element;
    if (event.altKey || event.ctrlKey || event.metaKey || target.matches("input")) return;
    const inGraph = graph.element.contains(target);
    const act =
      event.key === "?"
        ? help.open
        : inGraph
          ? event.shiftKey
            ? (moves[event.key] ?? letters[event.key])
            : letters[event.key]
          : undefined;
    if (act) {
      take(event);
      act();
    } else if (event.key === "Escape" && store.get("selected")) {
      take(event);
      if (target.closest(".gradviz-inspector") && store.get("panel") === "graph") graph.focus();
      store.set("selected", "");
    }
  });
}
