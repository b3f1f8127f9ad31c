// The recorded code: which line has just run, which is next, and what was made where.
import type { Context } from "./context";
import { focusable, html, scrollWithin, take } from "./dom";
import { tokensOf } from "./python";
import type { Source, View } from "./recording_wire";
import { lightOf, type Steps } from "./steps";
import { lineOf } from "./timeline";

interface Row {
  readonly element: HTMLElement;
  readonly chip: HTMLElement;
  /** Its part in what an explanation tells. */
  readonly part: HTMLElement;
}

/** What stands beside the line of a step. */
export function wordOf(view: View): string {
  if (view.kind === "error") return "raised";
  return view.level > 0 ? "running" : "just ran";
}

export function makeCode({ store, signal }: Context, steps: Steps): HTMLElement {
  const element = html("div", { class: "gradviz-code", role: "group", "aria-label": "Code" });
  const rows = new Map<string, Row>();
  let stops: HTMLElement[] = [];
  /** What must not scroll out of sight. */
  let shown: HTMLElement | undefined;
  const setStop = (to: HTMLElement | undefined) => {
    for (const stop of stops) stop.tabIndex = stop === to ? 0 : -1;
  };

  store.watch(["timeline"], () => {
    const timeline = store.get("timeline");
    element.hidden = !timeline?.wire.codes.some(({ lines }) => lines.length);
    rows.clear();
    if (!timeline) return;
    const known = new Set(Object.keys(timeline.wire.links.lines).map((line) => `line:${line}`));
    for (const view of timeline.wire.views) known.add(lineOf(view));
    element.replaceChildren(
      ...timeline.wire.codes.map((source, code) => sourceElement(source, code, known, rows)),
    );
    stops = [...element.querySelectorAll("button")];
    setStop(stops[0]);
    // Something that scrolls must be reachable, also when nothing in it is.
    if (stops.length) element.removeAttribute("tabindex");
    else focusable(element, 0);
  });

  store.watch(["at", "timeline"], () => {
    const view = store.get("timeline")?.view(store.get("at"));
    if (!view) return;
    const now = lineOf(view);
    const next = lineOf({ code: view.code, line: view.next_line });
    for (const [line, row] of rows) {
      const words = line === now ? wordOf(view) : line === next ? "next" : "";
      row.chip.textContent = words;
      row.element.classList.toggle("is-now", line === now);
      row.element.classList.toggle("is-next", words === "next");
      row.element.classList.toggle("is-raised", words === "raised");
      if (line === now) row.element.setAttribute("aria-current", "step");
      else row.element.removeAttribute("aria-current");
    }
    shown = (rows.get(now) ?? rows.get(next))?.element;
    if (!shown) return;
    if (stops.includes(shown) && !element.contains(document.activeElement)) setStop(shown);
    scrollWithin(element, shown);
  });
  store.watch(["at", "timeline", "detail"], () => {
    const parts = partsOf(steps);
    for (const [line, { element, chip, part }] of rows) {
      const words = parts.get(line) ?? "";
      // One word is enough: what raised has noticed, and what takes effect has just run.
      const raised = chip.textContent === "raised";
      const shown = raised && words !== CULPRIT ? "" : words;
      part.textContent = shown;
      element.classList.toggle("is-culprit", shown === CULPRIT);
      element.classList.toggle("is-noticed", shown !== "" && shown !== CULPRIT);
    }
  });
  if ("ResizeObserver" in globalThis) {
    const observer = new ResizeObserver(() => shown && scrollWithin(element, shown));
    observer.observe(element);
    signal.addEventListener("abort", () => observer.disconnect());
  }

  store.watch(["lit", "timeline"], () => {
    const light = lightOf(store.get("timeline"), store.get("lit"));
    for (const [line, { element }] of rows) element.classList.toggle("is-lit", light.has(line));
  });

  const lineAt = (target: EventTarget | null) =>
    (target as Element | null)?.closest<HTMLElement>("[data-line]")?.dataset.line ?? "";
  element.addEventListener("pointerover", (event) => store.set("lit", lineAt(event.target)));
  element.addEventListener("pointerleave", () => store.set("lit", ""));
  element.addEventListener("focusin", (event) => {
    store.set("lit", lineAt(event.target));
    if (stops.includes(event.target as HTMLElement)) setStop(event.target as HTMLElement);
  });
  element.addEventListener("focusout", () => store.set("lit", ""));
  element.addEventListener("click", (event) => steps.jumpToLine(lineAt(event.target)));
  element.addEventListener("keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const from = stops.indexOf(event.target as HTMLElement);
    if (by === undefined || from < 0) return;
    take(event);
    stops[Math.max(0, Math.min(from + by, stops.length - 1))]?.focus();
  });
  return element;
}

const CULPRIT = "! culprit";

/** Lines that did something wrong, and lines at which it shows, by what stands beside them. */
function partsOf(steps: Steps): ReadonlyMap<string, string> {
  const parts = new Map<string, string>();
  for (const { noticed_line, tone } of steps.cards) {
    const words = tone === "error" ? "× noticed" : "⚠ takes effect";
    if (noticed_line) parts.set(lineOf(noticed_line), words);
  }
  for (const { culprit_line } of [...steps.cards, ...steps.causedHere.map(({ card }) => card)]) {
    if (culprit_line) parts.set(lineOf(culprit_line), CULPRIT);
  }
  return parts;
}

function sourceElement(
  source: Source,
  code: number,
  known: ReadonlySet<string>,
  rows: Map<string, Row>,
): HTMLElement {
  const list = html("ol", { class: "gradviz-lines" });
  dedent(source.lines).forEach((text, i) => {
    const number = source.first + i;
    const line = lineOf({ code, line: number });
    const chip = html("span", { class: "gradviz-chip" });
    const part = html("span", { class: "gradviz-chip gradviz-part" });
    const tokens = tokensOf(text).map(({ kind, text }) => tokenElement(kind, text));
    const words = html("code", {}, ...tokens);
    // What is wrapped goes on further in than the line began.
    words.style.setProperty("--indent", `${indentOf(text) + 2}ch`);
    const numbered = html("span", { class: "gradviz-number" }, String(number));
    const parts = [numbered, html("span", { class: "gradviz-source" }, chip, part, words)];
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

/** The lines without what all of them are indented by. */
function dedent(lines: readonly string[]): readonly string[] {
  const indents = lines.filter((line) => line.trim()).map(indentOf);
  const common = indents.length ? Math.min(...indents) : 0;
  return lines.map((line) => line.slice(common));
}

/** Besides at spaces a line may be wrapped after an opening bracket or a comma, and before a dot. */
const WRAPS = /(?<=[([{,])(?=\S)|(?<=[\w)\]])(?=\.\D)/;

function tokenElement(kind: string, text: string): Node {
  if (kind) return html("span", { class: `gradviz-py-${kind}` }, text);
  const pieces = document.createDocumentFragment();
  text.split(WRAPS).forEach((piece, i) => {
    pieces.append(...(i ? [html("wbr")] : []), piece);
  });
  // What follows the last character is the next token's.
  if (/[([{,]$/.test(text)) pieces.append(html("wbr"));
  return pieces;
}
