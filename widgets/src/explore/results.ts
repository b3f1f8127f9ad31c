// What the last run left beside its graph: an error or a note, what changed, what was printed.
import type { Exploration } from "../documents/exploration";
import { focusable, html } from "../lib/dom";
import type { PanelContext } from "../panel_context";

/** Milliseconds without another run after which a screen reader hears what changed. */
const SETTLED = 700;
const HINT = "Change an input: the function runs again, and what changed is listed here.";

export interface Results {
  readonly element: HTMLElement;
  show(exploration: Exploration, isOpen: boolean): void;
}

export function makeResults({ announce, signal }: PanelContext): Results {
  const props = { class: "gradviz-results", role: "group", "aria-label": "What the last run left" };
  // A scrolling region must be reachable by keyboard.
  const element = focusable(html("div", props), 0);
  let settling: number | undefined;
  signal.addEventListener("abort", () => clearTimeout(settling));
  return {
    element,
    show(exploration, isOpen) {
      const { message, changed, printed, has_failed } = exploration;
      const parts: HTMLElement[] = [];
      if (message.length) parts.push(messageOf(message, has_failed));
      if (changed.length) parts.push(changedOf(changed));
      else if (!message.length && isOpen) parts.push(html("p", { class: "is-quiet" }, HINT));
      if (printed) parts.push(printedOf(printed));
      element.replaceChildren(...parts);
      element.hidden = !parts.length;
      element.scrollTop = 0;
      clearTimeout(settling);
      const said = (message.length ? message : changed).join("; ");
      if (said) settling = window.setTimeout(() => announce(said), SETTLED);
    },
  };
}

function messageOf([first = "", ...rest]: readonly string[], hasFailed: boolean): HTMLElement {
  const css = `gradviz-message ${hasFailed ? "is-error" : ""}`.trim();
  const lines = rest.map((line) => html("div", {}, line));
  return html("div", { class: css }, html("strong", {}, first), ...lines);
}

function changedOf([heading = "", ...sentences]: readonly string[]): HTMLElement {
  const head = html("div", { class: "gradviz-heading" }, heading);
  if (!sentences.length) return html("div", { class: "gradviz-changed" }, head);
  const list = html("ul", {}, ...sentences.map((one) => html("li", {}, one)));
  return html("div", { class: "gradviz-changed" }, head, list);
}

function printedOf(printed: string): HTMLElement {
  const head = html("div", { class: "gradviz-heading" }, "Printed");
  return html("div", {}, head, html("pre", { class: "gradviz-text" }, printed));
}
