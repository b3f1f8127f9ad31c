// A program to repair: what it did beside what it has to do, hints one at a time, and the player
// when it is repaired. The program itself is edited in the cell.

import { isRepairDocument, type Outcome, parseRepair, type Repair } from "../documents/repair";
import { showAfterRun } from "../frame/arrival";
import { focusable, html } from "../lib/dom";
import { icon } from "../lib/icons";
import { inlineCode } from "../lib/inline_code";
import { codeElements } from "../lib/python_code";
import { followTheme, type Theme } from "../lib/theme";
import { Kernel } from "../model/kernel";
import { LocalModel } from "../model/local_model";
import type { Model } from "../model/store";

/** Mounts a widget of its own for a document into an element. */
export type MountInside = (model: Model, el: HTMLElement, signal: AbortSignal) => void;

interface Parts {
  readonly verdict: HTMLElement;
  readonly hints: HTMLElement;
  readonly button: HTMLButtonElement;
  readonly solution: HTMLElement;
  readonly player: HTMLElement;
  readonly said: HTMLElement;
}

/** Rows of what is judged that are shown at first. */
const MOST_ROWS = 5;

const NO_KERNEL =
  "This page has no kernel: open the notebook to change the program, to run it, and for hints.";

/** Fills `root`. Throws when the document cannot be shown. */
export function mountRepair(
  root: HTMLElement,
  model: Model,
  signal: AbortSignal,
  prefix: string,
  mountInside: MountInside,
): void {
  const parts = makeParts();
  const kernel = new Kernel(model, signal);
  root.classList.add("gradviz-repair");
  const body = html(
    "div",
    { class: "gradviz-repair-body" },
    ...[parts.verdict, parts.hints, parts.solution],
    html("div", { class: "gradviz-repair-ask" }, parts.button, parts.said),
  );
  root.append(body, parts.player);
  showAfterRun(body, signal);
  const theme = () => (model.get("theme") as Theme | undefined) ?? "auto";
  followTheme(theme, (shade) => root.setAttribute("data-theme", shade), signal)();

  let inside: AbortController | undefined;
  let shown: unknown = null;
  const showPlayer = (document: unknown) => {
    if (document === shown) return;
    shown = document;
    inside?.abort();
    parts.player.replaceChildren();
    if (document === null) return;
    inside = new AbortController();
    const state = { wire: document, step: -1, selected: "", theme: theme() };
    mountInside(new LocalModel(state), parts.player, inside.signal);
  };
  signal.addEventListener("abort", () => inside?.abort());

  let known = 0;
  /** Whether what changes now was asked for here, and not by a call in another cell. */
  let isAsked = false;
  const show = (isFirst: boolean) => {
    const { repair, player } = parseRepair(model.get("wire"));
    root.setAttribute("aria-label", "program to repair");
    const hadFocus = parts.button === document.activeElement;
    parts.verdict.replaceChildren(...verdictElements(repair, prefix));
    parts.hints.replaceChildren(...hintElements(repair));
    parts.button.hidden = !repair.button || !kernel.isThere;
    parts.button.textContent = repair.button;
    parts.solution.replaceChildren(...solutionElements(repair));
    showPlayer(player);
    if (!kernel.isThere && !repair.is_solved) {
      parts.said.dataset.problem = "true";
      say(parts, NO_KERNEL);
    }
    if (isFirst) {
      // A live region speaks only when it changes after it is there.
      setTimeout(() => {
        if (!parts.said.textContent) say(parts, spokenVerdict(repair));
      }, 300);
    } else if (repair.hints.length > known) {
      say(parts, `Hint ${repair.hints.length}: ${plain(repair.hints.at(-1) ?? "")}`);
    }
    if (hadFocus && parts.button.hidden) parts.solution.focus({ preventScroll: true });
    if (isAsked) {
      // A hint moves the button down: it, or what it has shown at last, is on the screen.
      const next = parts.button.hidden ? parts.solution : parts.button;
      next.scrollIntoView?.({ block: "nearest" });
      isAsked = false;
    }
    known = repair.hints.length;
  };
  parts.button.addEventListener("click", async () => {
    if (parts.button.getAttribute("aria-disabled") === "true") return;
    parts.button.setAttribute("aria-disabled", "true");
    isAsked = true;
    try {
      await kernel.ask("hint");
      parts.said.dataset.problem = "";
    } catch {
      isAsked = false;
      parts.said.dataset.problem = "true";
      say(parts, "Hints come from Python, and it does not answer: run the cell again.");
    } finally {
      parts.button.removeAttribute("aria-disabled");
    }
  });
  const update = () => {
    if (isRepairDocument(model.get("wire"))) show(false);
  };
  model.on("change:wire", update);
  signal.addEventListener("abort", () => model.off?.("change:wire", update));
  show(true);
}

function makeParts(): Parts {
  return {
    verdict: html("div", { class: "gradviz-repair-verdict" }),
    hints: html("ol", { class: "gradviz-repair-hints", "aria-label": "Hints" }),
    button: focusable(html("button", { type: "button", class: "gradviz-button is-primary" })),
    solution: focusable(html("div", { class: "gradviz-repair-solution" }), -1),
    player: html("div", { class: "gradviz-repair-player" }),
    said: html("span", { class: "gradviz-repair-said", role: "status", "aria-live": "polite" }),
  };
}

function say({ said }: Parts, sentence: string): void {
  said.textContent = sentence;
}

function spokenVerdict({ headline, outcomes, known, problems }: Repair): string {
  const wrong = outcomes.filter(({ is_right }) => !is_right);
  const found = wrong.map(({ what, expected, found: had }) =>
    plain(`${what}: expected ${expected}, found ${had}.`),
  );
  return [`${headline}.`, ...found, ...problems.map(plain), plain(known)].filter(Boolean).join(" ");
}

function verdictElements(repair: Repair, prefix: string): HTMLElement[] {
  const sign = repair.is_solved ? icon("check") : icon("refused");
  const head = html(
    "p",
    { class: `gradviz-repair-head ${repair.is_solved ? "is-solved" : "is-open"}`, id: prefix },
    sign,
    html("strong", {}, repair.headline),
  );
  const found: HTMLElement[] = [head, html("p", {}, ...inlineCode(repair.goal))];
  if (repair.run) found.push(html("p", { class: "is-quiet" }, repair.run));
  found.push(...outcomeTables(repair.outcomes));
  found.push(...repair.problems.map((one) => html("p", {}, ...inlineCode(one))));
  if (repair.message) found.push(torchsWords(repair.message));
  if (repair.known) {
    found.push(html("p", { class: "gradviz-repair-known" }, ...inlineCode(repair.known)));
  }
  if (repair.why) found.push(html("p", { class: "gradviz-repair-why" }, ...inlineCode(repair.why)));
  return found;
}

/** What is judged, a row each; of many those that are wrong first, and the others a click away. */
function outcomeTables(outcomes: readonly Outcome[]): HTMLElement[] {
  if (!outcomes.length) return [];
  if (outcomes.length <= MOST_ROWS + 1) return [outcomeTable(outcomes)];
  const rows = [...outcomes].sort((one, other) => Number(one.is_right) - Number(other.is_right));
  const rest = rows.slice(MOST_ROWS);
  const right = rest.filter((one) => one.is_right).length;
  const counts = [
    { number: rest.length - right, word: "wrong" },
    { number: right, word: "right" },
  ].flatMap(({ number, word }) => (number ? [`${number} ${word}`] : []));
  const summary = focusable(html("summary", {}, `${rest.length} more: ${counts.join(", ")}`));
  const others = html("details", { class: "gradviz-repair-others" }, summary, outcomeTable(rest));
  return [outcomeTable(rows.slice(0, MOST_ROWS)), others];
}

function outcomeTable(outcomes: readonly Outcome[]): HTMLElement {
  const heads = ["expected", "found"].map((name) => html("th", { scope: "col" }, name));
  heads.unshift(
    html("th", { scope: "col" }, html("span", { class: "gradviz-hidden" }, "what is judged")),
  );
  const rows = outcomes.map(({ what, expected, found, is_right }) =>
    html(
      "tr",
      { class: is_right ? "is-right" : "is-wrong" },
      html(
        "th",
        { scope: "row" },
        html("span", { "aria-hidden": "true" }, is_right ? "✓ " : "✗ "),
        html("span", { class: "gradviz-hidden" }, is_right ? "right: " : "wrong: "),
        html("code", {}, what),
      ),
      html("td", { "data-label": "expected" }, html("code", {}, expected)),
      html("td", { "data-label": "found" }, html("code", {}, found)),
    ),
  );
  return html(
    "table",
    { class: "gradviz-repair-outcomes", "aria-label": "expected and found" },
    html("thead", {}, html("tr", {}, ...heads)),
    html("tbody", {}, ...rows),
  );
}

function torchsWords(message: string): HTMLElement {
  const summary = focusable(html("summary", { class: "is-quiet" }, "What Python said"));
  return html("details", {}, summary, html("pre", {}, message));
}

function hintElements({ hints }: Repair): HTMLElement[] {
  return hints.map((hint) => html("li", {}, ...inlineCode(hint)));
}

function solutionElements({ fix, solution }: Repair): HTMLElement[] {
  const typed = fix ? [html("p", {}, html("strong", {}, "Type: "), ...inlineCode(fix))] : [];
  if (!solution) return typed;
  const code = html("code", {});
  for (const line of solution.split("\n")) code.append(...codeElements(line), "\n");
  const block = focusable(html("pre", { role: "group", "aria-label": "One way" }, code), 0);
  return [...typed, html("p", {}, html("strong", {}, "One way to repair it")), block];
}

function plain(sentence: string): string {
  return sentence.replaceAll("`", "");
}
