// Several parts of a report of which one is shown: tabs, which arrow keys switch (ARIA Authoring Practices,
// tabs with automatic activation). A single one has a heading instead of a tab.
import { focusable, html } from "../lib/dom";
import { roveTabindex } from "../lib/roving";

interface Section {
  readonly label: string;
  readonly content: HTMLElement;
}

/** `prefix` starts the ids of tabs and panels. */
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
  const made = sections.map(({ label, content }, i) => {
    const [id, panelId] = [`${prefix}-tab-${i}`, `${prefix}-panel-${i}`];
    const props = { type: "button", class: "gradviz-tab", role: "tab", id };
    const button = focusable(html("button", { ...props, "aria-controls": panelId }, label));
    button.addEventListener("click", () => show(i));
    button.addEventListener("focus", () => show(i));
    const named = { id: panelId, "aria-labelledby": id, "data-label": label };
    const panel = html("div", { class: "gradviz-section", role: "tabpanel", ...named }, content);
    return { button, panel };
  });
  const bar = html("div", { class: "gradviz-tabs", role: "tablist", "aria-label": label });
  bar.append(...made.map(({ button }) => button));
  const setStop = roveTabindex(bar);
  const show = (shown: number) => {
    made.forEach(({ button, panel }, i) => {
      button.setAttribute("aria-selected", String(i === shown));
      panel.hidden = i !== shown;
    });
    setStop(made[shown]?.button);
  };
  show(0);
  element.append(bar, ...made.map(({ panel }) => panel));
  return element;
}
