// Graph or outline: tabs, arrow keys switch (ARIA Authoring Practices, tabs with automatic activation).
import type { Context } from "./context";
import { focusable, html } from "./dom";
import type { Panel } from "./store";
import { rove } from "./toolbar";

export interface Tabs {
  readonly bar: HTMLElement;
  readonly panels: readonly HTMLElement[];
}

export function makeTabs({ store, prefix }: Context, contents: Record<Panel, HTMLElement>): Tabs {
  const bar = html("div", { class: "gradviz-tabs", role: "tablist", "aria-label": "View" });
  const tabs = new Map<Panel, HTMLButtonElement>();
  const panels = new Map<Panel, HTMLElement>();
  for (const [name, label] of [
    ["graph", "Graph"],
    ["outline", "Outline"],
  ] as const) {
    const tabId = `${prefix}-tab-${name}`;
    const panelId = `${prefix}-panel-${name}`;
    const props = { type: "button", class: "gradviz-tab", role: "tab", id: tabId };
    const tab = focusable(html("button", { ...props, "aria-controls": panelId }, label));
    tab.addEventListener("click", () => store.set("panel", name));
    tab.addEventListener("focus", () => store.set("panel", name));
    const panel = html("div", { class: "gradviz-panel", role: "tabpanel", id: panelId });
    panel.setAttribute("aria-labelledby", tabId);
    panel.append(contents[name]);
    tabs.set(name, tab);
    panels.set(name, panel);
    bar.append(tab);
  }
  rove(bar);
  store.watch(["panel"], () => {
    for (const [name, tab] of tabs) {
      const on = name === store.get("panel");
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      const panel = panels.get(name);
      if (panel) panel.hidden = !on;
    }
  });
  return { bar, panels: [...panels.values()] };
}
