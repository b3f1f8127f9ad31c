// The list of keys, opened by "?".

import { isRecording } from "../documents/recording";
import { isReport } from "../documents/report";
import { makeButton } from "../lib/button";
import { claim, html } from "../lib/dom";
import type { PanelContext } from "../panel_context";

type Key = readonly [keys: string, what: string];

const STEP_KEYS: readonly Key[] = [
  ["← →", "one step back, one step forward: in the controls, code, caption and tensors"],
  ["[ ] or , .", "the same, from everywhere, also in the graph"],
  [">", "to the first sub-step inside this step or the next: parts of a node, lines of a function"],
  ["<", "back to the step that this is inside of"],
  ["Home End", "first and last step"],
  ["Space", "play and pause, on the timeline; one step forward under reduced motion"],
  ["↑ ↓", "from line to line in the code, from row to row in a table"],
  ["Enter", "on a line of code: go to the step after it ran"],
];

const REPORT_KEYS: readonly Key[] = [
  ["↑ ↓", "from row to row in a table; Enter selects its node or tensor"],
  ["← →", "from header to header in a table; Enter sorts by the column"],
];

const FOLD_KEYS: readonly Key[] = [
  ["Enter", "on a box with +: unfold it; on the header of an open one: fold it"],
  ["click", "on a box: unfold it; on the header of an open one: fold it"],
  ["Ctrl click, ⌘ click", "on a box or a header: its totals, without unfolding; so does Space"],
  ["u", "fold the box around the node that has the focus"],
  ["m", "show only the module of the node or box that has the focus; again: all of the graph"],
  ["n", "unfold what is around a node and around all that it is joined to"],
];

const KEYS: readonly Key[] = [
  ["Tab", "panels, find, tools, graph, details"],
  [
    "↑ ↓ ← →",
    "in the graph: along the edges to inputs and consumers, and to neighbours on the side",
  ],
  ["Home End", "first and last node"],
  ["Enter", "select: all paths through it stay, the rest fades; again: the tensors on the card"],
  ["Shift Enter", "with something selected: only the paths to this one; also Shift click"],
  [
    "Esc",
    "close what is open, clear the selection, leave the full screen; again: back to the cell",
  ],
  ["i", "details of the selected node, or of the one that this is about"],
  ["n", "draw the selected node and those near it, where a large graph is not drawn whole"],
  ["f", "full screen"],
  ["p", "present: code, graph and caption alone, in large type, on the full screen"],
  ["+ − 0 1", "zoom in, zoom out, whole graph, 100 %; 0 again: back to where it was"],
  ["Shift ↑ ↓ ← →", "move the window"],
  ["/", "find; Enter: to the match, Shift Enter: to the one before; Esc: back to the graph"],
  ["g", "next match of what is in Find; G: the one before"],
  ["o", "outline"],
  ["d", "cards: compact, normal, full"],
  ["e", "engine arrows"],
  ["Ctrl wheel", "zoom"],
  ["one finger", "scrolls the page; a tap selects"],
  ["two fingers", "zoom and move the graph"],
];

export type Help = ReturnType<typeof makeHelp>;

export function makeHelp(context: PanelContext) {
  const id = `${context.prefix}-keys`;
  const props = { class: "gradviz-help", role: "dialog", "aria-labelledby": id, hidden: true };
  const element = html("div", props);
  const close = makeButton(context, { label: "Close", icon: "close", run: () => shut() });
  const list = html("dl");
  context.store.watch(["wire"], () => {
    const wire = context.store.get("wire");
    const own = isRecording(wire) ? STEP_KEYS : isReport(wire) ? REPORT_KEYS : [];
    // On a folded graph the same letter does what is needed there.
    const folded = wire.fold ? FOLD_KEYS : [];
    const taken = new Set(folded.map(([keys]) => keys).filter((keys) => keys !== "Enter"));
    const shown = [...own, ...folded, ...KEYS.filter(([keys]) => !taken.has(keys))];
    list.replaceChildren(
      ...shown.map(([keys, what]) => html("div", {}, html("dt", {}, keys), html("dd", {}, what))),
    );
  });
  const note = html(
    "p",
    {},
    "i, f and p work everywhere, other letters while the focus is in the graph. ← → also move the line between code and graph.",
  );
  element.append(
    html(
      "div",
      { class: "gradviz-inspector-head" },
      html("div", { id, class: "gradviz-inspector-title" }, "Keys"),
      close,
    ),
    list,
    note,
  );

  let before: Element | null = null;
  const open = () => {
    before = document.activeElement;
    element.hidden = false;
    close.focus();
  };
  const shut = () => {
    element.hidden = true;
    if (before instanceof HTMLElement || before instanceof SVGElement) before.focus();
  };
  const button = makeButton(context, {
    label: "Keys",
    words: "Keys",
    icon: "help",
    hint: "Keys (?)",
    run: open,
  });
  element.addEventListener("keydown", (event) => {
    if (event.key === "Tab") claim(event);
    if (event.key !== "Escape") return;
    claim(event);
    shut();
  });
  return { button, element, open };
}
