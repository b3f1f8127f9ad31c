// Tabs: one panel is shown, arrow keys switch (ARIA Authoring Practices, tabs with
// automatic activation).
import { focusable, html } from "./dom";
import { roveTabindex } from "./roving";

export interface Tab<Id extends string> {
  readonly id: Id;
  readonly label: string;
  readonly content: HTMLElement;
}

export interface Tabs<Id extends string> {
  readonly bar: HTMLElement;
  readonly panels: readonly HTMLElement[];
  /** Shows one panel and hides the others. */
  show(id: Id): void;
}

/** `prefix` starts the ids of tabs and panels; `choose` is called when somebody goes to a tab. */
export function makeTabs<Id extends string>(
  { label, prefix, panelClass }: Record<"label" | "prefix" | "panelClass", string>,
  tabs: readonly Tab<Id>[],
  choose: (id: Id) => void,
): Tabs<Id> {
  const made = tabs.map((tab) => {
    const [tabId, panelId] = [`${prefix}-tab-${tab.id}`, `${prefix}-panel-${tab.id}`];
    const props = { type: "button", class: "gradviz-tab", role: "tab", id: tabId };
    const button = focusable(html("button", { ...props, "aria-controls": panelId }, tab.label));
    button.addEventListener("click", () => choose(tab.id));
    button.addEventListener("focus", () => choose(tab.id));
    const named = { "aria-labelledby": tabId, "data-label": tab.label };
    const panelProps = { class: panelClass, role: "tabpanel", id: panelId, ...named };
    return { id: tab.id, button, panel: html("div", panelProps, tab.content) };
  });
  const bar = html("div", { class: "gradviz-tabs", role: "tablist", "aria-label": label });
  bar.append(...made.map(({ button }) => button));
  roveTabindex(bar);
  const show = (shown: Id) => {
    for (const { id, button, panel } of made) {
      button.setAttribute("aria-selected", String(id === shown));
      button.tabIndex = id === shown ? 0 : -1;
      panel.hidden = id !== shown;
    }
  };
  return { bar, panels: made.map(({ panel }) => panel), show };
}
