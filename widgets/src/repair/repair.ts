// A program to repair: what it did beside what it has to do, hints one at a time, and the player
// when it is repaired. The program itself is edited in the cell.

import { hintsOf, isRepairDocument, parseRepair, type Repair } from "../documents/repair";
import { wordsOf } from "../documents/sentence";
import { showAfterRun } from "../frame/arrival";
import { focusable, html } from "../lib/dom";
import { icon } from "../lib/icons";
import { inlineCode } from "../lib/inline_code";
import { Kernel } from "../model/kernel";
import { LocalModel } from "../model/local_model";
import { hear, type Model, type MountInside } from "../model/store";
import { codeElement, partElements } from "../parts/parts";

type Parts = ReturnType<typeof makeParts>;

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
    ...[parts.verdict, parts.solution],
    html("div", { class: "gradviz-repair-ask" }, parts.button, parts.said),
  );
  root.append(body, parts.player);
  showAfterRun(body, signal);

  let inside: AbortController | undefined;
  let shown: unknown = null;
  const showPlayer = (document: unknown) => {
    if (document === shown) return;
    shown = document;
    inside?.abort();
    parts.player.replaceChildren();
    if (document === null) return;
    inside = new AbortController();
    mountInside(new LocalModel({ wire: document }, model), parts.player, inside.signal);
  };
  signal.addEventListener("abort", () => inside?.abort());

  let known = 0;
  /** Whether what changes now was asked for here, and not by a call in another cell. */
  let isAsked = false;
  const show = (isFirst: boolean) => {
    const { repair, player } = parseRepair(model.get("wire"));
    const hints = hintsOf(repair);
    root.setAttribute("aria-label", "program to repair");
    const hadFocus = parts.button === document.activeElement;
    parts.verdict.replaceChildren(...verdictElements(repair, prefix));
    parts.button.hidden = !repair.button || !kernel.isThere;
    parts.button.textContent = repair.button;
    parts.solution.replaceChildren(...solutionElements(repair));
    showPlayer(player);
    if (!kernel.isThere && repair.tone === "open") {
      parts.said.dataset.problem = "true";
      say(parts, NO_KERNEL);
    }
    if (isFirst) {
      // A live region speaks only when it changes after it is there.
      setTimeout(() => {
        if (!parts.said.textContent) say(parts, repair.said);
      }, 300);
    } else if (hints.length > known) {
      const last = wordsOf(hints.at(-1) ?? []).replaceAll("`", "");
      say(parts, `Hint ${hints.length}: ${last}`);
    }
    if (hadFocus && parts.button.hidden) parts.solution.focus({ preventScroll: true });
    if (isAsked) {
      // A hint moves the button down: it, or what it has shown at last, is on the screen.
      const next = parts.button.hidden ? parts.solution : parts.button;
      next.scrollIntoView?.({ block: "nearest" });
      isAsked = false;
    }
    known = hints.length;
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
  hear(model, "change:wire", update, signal);
  show(true);
}

function makeParts() {
  return {
    verdict: html("div", { class: "gradviz-repair-verdict" }),
    button: focusable(html("button", { type: "button", class: "gradviz-button is-primary" })),
    solution: focusable(html("div", { class: "gradviz-repair-solution" }), -1),
    player: html("div", { class: "gradviz-repair-player" }),
    said: html("span", { class: "gradviz-repair-said", role: "status", "aria-live": "polite" }),
  };
}

function say({ said }: Parts, sentence: string): void {
  said.textContent = sentence;
}

function verdictElements({ title, tone, parts, message }: Repair, prefix: string): HTMLElement[] {
  const sign = icon(tone === "solved" ? "check" : "refused");
  const props = { class: `gradviz-repair-head is-${tone}`, id: prefix };
  const head = html("p", props, sign, html("strong", {}, title));
  const found = partElements(parts);
  // Below what went wrong, above what is said of it.
  const at = found.findIndex((element) => element.matches(".is-known, .is-why, ol"));
  if (message) found.splice(at < 0 ? found.length : at, 0, torchsWords(message));
  return [head, ...found];
}

function torchsWords(message: string): HTMLElement {
  const summary = focusable(html("summary", { class: "is-quiet" }, "What Python said"));
  return html("details", {}, summary, html("pre", {}, message));
}

function solutionElements({ fix, solution }: Repair): HTMLElement[] {
  const typed = fix ? [html("p", {}, html("strong", {}, "Type: "), ...inlineCode(fix))] : [];
  if (!solution) return typed;
  const heading = html("p", {}, html("strong", {}, "One way to repair it"));
  return [...typed, heading, codeElement(solution.split("\n"), "One way")];
}
