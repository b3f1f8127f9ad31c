// A button with an icon, a name and a tooltip.
import { focusable, html } from "./dom";
import { type Icon, icon } from "./icons";
import type { Tooltip } from "./tooltip";

export interface Tool {
  readonly label: string;
  readonly icon?: Icon;
  /** Words beside the icon; they go away first when there is little room. */
  readonly words?: string;
  readonly hint?: string | (() => string);
  run(button: HTMLButtonElement): void;
}

/** A button with a word. */
export function action(label: string, run: () => void): HTMLButtonElement {
  const button = focusable(html("button", { type: "button", class: "gradviz-button" }, label));
  button.addEventListener("click", run);
  return button;
}

export function makeButton(
  { tooltip }: { readonly tooltip: Tooltip },
  tool: Tool,
): HTMLButtonElement {
  const props = { type: "button", class: "gradviz-button", "aria-label": tool.label };
  const button = focusable(html("button", props));
  if (tool.icon) button.append(icon(tool.icon));
  if (tool.words) button.append(html("span", { class: "gradviz-words" }, tool.words));
  button.addEventListener("click", () => tool.run(button));
  const { hint = tool.label } = tool;
  tooltip.attach(button, () => (typeof hint === "string" ? hint : hint()));
  return button;
}
