// Several things of which one is shown: tabs, arrow keys switch; a single one has a heading.
import { focusable, html } from "./dom";
import { rove } from "./toolbar";

export interface Section {
  readonly label: string;
  readonly content: HTMLElement;
}

export function makeSections(
  sections: readonly Section[],
  label: string,
  prefix: string,
): HTMLElement {
  const element = html("div", { class: "gradviz-sections" });
  const [first] = sections;
  if (sections.length === 1 && first) {
    const heading = html("div", { class: "gradviz-heading", id: `${prefix}-heading` }, first.label);
    const panel = html("div", { class: "gradviz-section", role: "group" }, first.content);
    panel.setAttribute("aria-labelledby", heading.id);
    element.append(heading, panel);
    return element;
  }
  const bar = html("div", { class: "gradviz-tabs", role: "tablist", "aria-label": label });
  const panels = sections.map(({ content, label }, i) => {
    const props = { class: "gradviz-section", role: "tabpanel", id: `${prefix}-panel-${i}` };
    const named = { "aria-labelledby": `${prefix}-tab-${i}`, "data-label": label };
    return html("div", { ...props, ...named }, content);
  });
  const tabs = sections.map(({ label }, i) => {
    const props = { type: "button", class: "gradviz-tab", role: "tab", id: `${prefix}-tab-${i}` };
    const tab = focusable(html("button", { ...props, "aria-controls": panels[i]?.id }, label));
    tab.addEventListener("click", () => show(i));
    tab.addEventListener("focus", () => show(i));
    return tab;
  });
  const show = (shown: number) => {
    tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === shown));
      tab.tabIndex = i === shown ? 0 : -1;
    });
    panels.forEach((panel, i) => {
      panel.hidden = i !== shown;
    });
  };
  bar.append(...tabs);
  rove(bar);
  show(0);
  element.append(bar, ...panels);
  return element;
}
