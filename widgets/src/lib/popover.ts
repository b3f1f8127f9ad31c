// A small panel that a button opens over the rest; Escape or a click elsewhere closes it.
import { makeButton, type Tool } from "./button";
import { claim, focusable, html } from "./dom";
import type { Tooltip } from "./tooltip";

export interface Popover {
  readonly button: HTMLButtonElement;
  readonly element: HTMLElement;
  /** Puts the focus back on the button where it was inside. */
  close(): void;
}

interface Place {
  readonly prefix: string;
  readonly signal: AbortSignal;
  readonly tooltip: Tooltip;
}

/** `name` is that of the panel, and part of its id. */
export function makePopover(
  { prefix, signal, tooltip }: Place,
  name: string,
  tool: Omit<Tool, "run">,
  ...content: Node[]
): Popover {
  const id = `${prefix}-${name.toLowerCase().replaceAll(" ", "-")}`;
  const props = { class: "gradviz-popover", id, role: "group", "aria-label": name, hidden: true };
  const element = focusable(html("div", props, ...content), -1);
  const show = (on: boolean) => {
    element.hidden = !on;
    button.setAttribute("aria-expanded", String(on));
  };
  const close = () => {
    const inside = element.contains(document.activeElement);
    show(false);
    if (inside) button.focus();
  };
  const open = () => {
    show(true);
    (
      element.querySelector<HTMLElement>("button:not([hidden], [tabindex='-1'])") ?? element
    ).focus();
  };
  const run = () => (element.hidden ? open() : close());
  const button = makeButton({ tooltip }, { ...tool, run });
  button.setAttribute("aria-expanded", "false");
  button.setAttribute("aria-controls", id);
  // What opens something else leaves nothing open behind it.
  element.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest(".closes-popover")) close();
  });
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    claim(event);
    close();
  });
  const outside = (event: Event) => {
    const inside = event.composedPath();
    if (!inside.includes(element) && !inside.includes(button)) show(false);
  };
  document.addEventListener("pointerdown", outside, { signal });
  return { button, element, close };
}
