// The list of keys, opened by "?".

import { isRecording } from "../documents/recording";
import { isReport } from "../documents/report";
import { makeButton } from "../lib/button";
import { claim, focusable, html } from "../lib/dom";
import { icon } from "../lib/icons";
import type { PanelContext } from "../panel_context";

type Key = readonly [keys: string, what: string];

const STEP_KEYS: readonly Key[] = [
  ["← →", "a step back, a step forward: on the controls, the code, the caption, the tensors"],
  ["[ ] or , .", "the same from anywhere, the graph too"],
  ["Home End", "first and last step"],
  ["Space", "play and pause, on the time line; a step forward where the system asks for no motion"],
  ["↑ ↓", "from line to line in the code, from row to row in a table"],
  ["Enter", "on a line of code: to the step at which it has run"],
];

const REPORT_KEYS: readonly Key[] = [
  ["↑ ↓", "from row to row in a table; Enter selects what it is about"],
  ["← →", "from head to head of a table; Enter sorts by it"],
];

const KEYS: readonly Key[] = [
  ["Tab", "tabs, find, tools, graph, details"],
  [
    "↑ ↓ ← →",
    "in the graph: along the edges to inputs and consumers; across: the neighbour on that side",
  ],
  ["Home End", "first and last node"],
  ["Enter", "select, show details; again: the tensors on the card"],
  ["Esc", "close, select nothing; once more: back to the cell"],
  ["+ − 0 1", "zoom in, zoom out, whole graph, 100 %"],
  ["Shift ↑ ↓ ← →", "move the window"],
  ["/", "find; Enter next match, Shift Enter the one before"],
  ["o", "outline"],
  ["e", "engine arrows"],
  ["Ctrl wheel", "zoom"],
];

export interface Help {
  readonly button: HTMLButtonElement;
  readonly element: HTMLElement;
  open(): void;
}

export function makeHelp(context: PanelContext): Help {
  const id = `${context.prefix}-keys`;
  const props = { class: "gradviz-help", role: "dialog", "aria-labelledby": id, hidden: true };
  const element = html("div", props);
  const close = focusable(
    html("button", { type: "button", class: "gradviz-button", "aria-label": "Close" }),
  );
  close.append(icon("close"));
  const list = html("dl");
  context.store.watch(["wire"], () => {
    const wire = context.store.get("wire");
    const own = isRecording(wire) ? STEP_KEYS : isReport(wire) ? REPORT_KEYS : [];
    const shown = [...own, ...KEYS];
    list.replaceChildren(
      ...shown.map(([keys, what]) => html("div", {}, html("dt", {}, keys), html("dd", {}, what))),
    );
  });
  const note = html("p", {}, "Single letters work while the focus is in the graph.");
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
  const button = makeButton(context, { label: "Keys", icon: "help", hint: "Keys (?)", run: open });
  close.addEventListener("click", shut);
  element.addEventListener("keydown", (event) => {
    if (event.key === "Tab") claim(event);
    if (event.key !== "Escape") return;
    claim(event);
    shut();
  });
  return { button, element, open };
}
