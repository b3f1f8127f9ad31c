// The recorded code: the line that just ran, the next line, and what each line made.

import type { Source, StepView } from "../documents/recording";
import { focusable, html, onResize, refill, scrollWithin } from "../lib/dom";
import { codeElements } from "../lib/python_code";
import { roveTabindex } from "../lib/roving";
import { relatedTo } from "../model/related";
import { lineId } from "../model/timeline";
import type { PanelContext } from "../panel_context";
import type { StepCursor } from "./step_cursor";

interface CodeRow {
  readonly element: HTMLElement;
  readonly chip: HTMLElement;
  /** Its role in an explanation. */
  readonly part: HTMLElement;
}

/** The state of a line at a step, with its words. */
const LINE_STATES = {
  raised: "raised",
  running: "running",
  ran: "just ran",
  next: "next",
} as const;
type LineState = keyof typeof LINE_STATES;

/** The role of a line in an explanation, with its words. */
const LINE_PARTS = {
  culprit: "! culprit",
  noticed: "× noticed",
  affected: "⚠ takes effect",
} as const;
type LinePart = keyof typeof LINE_PARTS;

function stateOf(view: StepView, line: string): LineState | undefined {
  if (line === lineId({ code: view.code, line: view.next_line }) && line !== lineId(view)) {
    return "next";
  }
  if (line !== lineId(view)) return undefined;
  if (view.kind === "error") return "raised";
  return view.level > 0 ? "running" : "ran";
}

export function makeCode({ store, signal }: PanelContext, cursor: StepCursor): HTMLElement {
  const element = html("div", { class: "gradviz-code", role: "group", "aria-label": "Code" });
  const rows = new Map<string, CodeRow>();
  /** The line that must stay visible. */
  let shown: HTMLElement | undefined;
  const setStop = roveTabindex(element, ["ArrowUp", "ArrowDown"], true);

  store.watch(["timeline"], () => {
    const timeline = store.get("timeline");
    element.hidden = !timeline?.recording.codes.some(({ lines }) => lines.length);
    rows.clear();
    if (!timeline) return;
    const known = new Set(
      Object.keys(timeline.recording.links.lines).map((line) => `line:${line}`),
    );
    for (const view of timeline.recording.views) known.add(lineId(view));
    refill(
      element,
      element,
      ...timeline.recording.codes.map((source, code) => sourceElement(source, code, known, rows)),
    );
    const first = element.querySelector("button");
    if (!element.contains(document.activeElement)) setStop(first ?? undefined);
    // A scrolling region must be reachable by keyboard, even without buttons inside.
    if (first) element.removeAttribute("tabindex");
    else focusable(element, 0);
  });

  store.watch(["at", "timeline"], () => {
    const view = store.get("timeline")?.view(store.get("at"));
    if (!view) return;
    const now = lineId(view);
    const next = lineId({ code: view.code, line: view.next_line });
    for (const [line, row] of rows) {
      const state = stateOf(view, line);
      row.chip.textContent = state ? LINE_STATES[state] : "";
      row.element.classList.toggle("is-now", line === now);
      row.element.classList.toggle("is-next", state === "next");
      row.element.classList.toggle("is-raised", state === "raised");
      if (line === now) row.element.setAttribute("aria-current", "step");
      else row.element.removeAttribute("aria-current");
    }
    shown = (rows.get(now) ?? rows.get(next))?.element;
    if (!shown) return;
    if (shown.matches("button") && !element.contains(document.activeElement)) setStop(shown);
  });
  store.watch(["at", "timeline", "visible"], () => {
    const view = store.get("timeline")?.view(store.get("at"));
    const parts = partsOf(cursor);
    for (const [line, { element: row, part }] of rows) {
      const known = parts.get(line);
      // One label is enough: the line that raised is the line at which it was noticed.
      const raised = view && stateOf(view, line) === "raised";
      const told = raised && known !== "culprit" ? undefined : known;
      part.textContent = told ? LINE_PARTS[told] : "";
      row.classList.toggle("is-culprit", told === "culprit");
      row.classList.toggle("is-noticed", told !== undefined && told !== "culprit");
    }
    // With its labels a line may be higher.
    if (shown) scrollWithin(element, shown);
  });
  onResize(element, signal, () => shown && scrollWithin(element, shown));

  store.watch(["lit", "timeline"], () => {
    const light = relatedTo(store.get("timeline"), store.get("lit"));
    for (const [line, { element }] of rows) element.classList.toggle("is-lit", light.has(line));
  });

  const lineAt = (target: EventTarget | null) =>
    (target as Element | null)?.closest<HTMLElement>("[data-line]")?.dataset.line ?? "";
  element.addEventListener("pointerover", (event) => store.set("lit", lineAt(event.target)));
  element.addEventListener("pointerleave", () => store.set("lit", ""));
  element.addEventListener("focusin", (event) => store.set("lit", lineAt(event.target)));
  element.addEventListener("focusout", () => store.set("lit", ""));
  element.addEventListener("click", (event) => cursor.jumpToLine(lineAt(event.target)));
  return element;
}

/** The lines of culprits, and the lines at which they are noticed. */
function partsOf(cursor: StepCursor): ReadonlyMap<string, LinePart> {
  const parts = new Map<string, LinePart>();
  for (const { noticed_line, tone } of cursor.cards) {
    if (noticed_line) parts.set(lineId(noticed_line), tone === "error" ? "noticed" : "affected");
  }
  for (const { culprit_line } of [...cursor.cards, ...cursor.causedHere.map(({ card }) => card)]) {
    if (culprit_line) parts.set(lineId(culprit_line), "culprit");
  }
  return parts;
}

function sourceElement(
  source: Source,
  code: number,
  known: ReadonlySet<string>,
  rows: Map<string, CodeRow>,
): HTMLElement {
  const list = html("ol", { class: "gradviz-lines" });
  dedent(source.lines).forEach((text, i) => {
    const number = source.first + i;
    const line = lineId({ code, line: number });
    const chip = html("span", { class: "gradviz-chip" });
    const part = html("span", { class: "gradviz-chip gradviz-part" });
    const words = html("code", {}, ...codeElements(text));
    // Wrapped text is indented further than the line.
    words.style.setProperty("--indent", `${indentOf(text) + 2}ch`);
    const numbered = html("span", { class: "gradviz-number" }, String(number));
    const parts = [numbered, html("span", {}, chip, part, words)];
    const props = { class: "gradviz-line", "data-line": line };
    const row = known.has(line)
      ? focusable(html("button", { ...props, type: "button" }, ...parts), -1)
      : html("div", props, ...parts);
    rows.set(line, { element: row, chip, part });
    list.append(html("li", {}, row));
  });
  return html("div", {}, html("div", { class: "gradviz-heading" }, source.name), list);
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** The lines without their common indentation. */
function dedent(lines: readonly string[]): readonly string[] {
  const indents = lines.filter((line) => line.trim()).map(indentOf);
  const common = indents.length ? Math.min(...indents) : 0;
  return lines.map((line) => line.slice(common));
}
