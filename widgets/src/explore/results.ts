// What the last run left beside its graph: an error or a note, what changed, what was printed. What
// is said of a run on its way stands there too, so that nothing moves when it comes and goes.
import type { Exploration } from "../documents/exploration";
import { focusable, html, under } from "../lib/dom";
import type { PanelContext } from "../panel_context";
import type { Progress } from "./requests";

/** Milliseconds without another run after which a screen reader hears what changed. */
const SETTLED = 700;
const HINT = "Change an input: the function runs again, and what changed is listed here.";

const SAID: Readonly<Record<Progress, string>> = {
  idle: "",
  running: "running …",
  silent:
    "No answer from Python yet: the kernel is busy, or it has ended. If it has, run the cell again.",
  absent:
    "These are the inputs of the last run. They cannot be changed here: the function runs in Python, and this page has no kernel. Run the cell in a notebook.",
};

export function makeResults({ announce, signal }: PanelContext) {
  const props = { class: "gradviz-results", role: "group", "aria-label": "What the last run left" };
  // A scrolling region must be reachable by keyboard.
  const element = focusable(html("div", props), 0);
  const said = html("p", { class: "gradviz-progress is-quiet", "aria-live": "polite" });
  const left = html("div", {});
  element.append(said, left);
  let settling: number | undefined;
  signal.addEventListener("abort", () => clearTimeout(settling));
  return {
    element,
    show(exploration: Exploration, isOpen: boolean) {
      const { message, backward, changed, printed, has_failed } = exploration;
      const parts: HTMLElement[] = [];
      if (message.length) parts.push(messageOf(message, has_failed));
      if (backward) parts.push(html("p", { class: "gradviz-backward is-quiet" }, backward));
      if (changed.length) parts.push(changedOf(changed));
      else if (!message.length && isOpen) parts.push(html("p", { class: "is-quiet" }, HINT));
      const text = html("pre", { class: "gradviz-text" }, printed);
      if (printed) parts.push(under("Printed", "", text));
      left.replaceChildren(...parts);
      element.scrollTop = 0;
      clearTimeout(settling);
      const words = (message.length ? message : changed).join("; ");
      if (words) settling = window.setTimeout(() => announce(words), SETTLED);
    },
    /** Says how far a run is, above what the last one left. */
    say(progress: Progress) {
      said.textContent = SAID[progress];
      said.hidden = progress === "idle";
      element.classList.toggle("is-running", progress === "running");
    },
  };
}

function messageOf([first = "", ...rest]: readonly string[], hasFailed: boolean): HTMLElement {
  const css = `gradviz-message ${hasFailed ? "is-error" : ""}`.trim();
  const lines = rest.map((line) => html("div", {}, line));
  return html("div", { class: css }, html("strong", {}, first), ...lines);
}

function changedOf([heading = "", ...sentences]: readonly string[]): HTMLElement {
  const list = html("ul", {}, ...sentences.map((one) => html("li", {}, one)));
  return under(heading, "gradviz-changed", ...(sentences.length ? [list] : []));
}
