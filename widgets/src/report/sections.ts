// Several parts of a report of which one is shown; a single one has a heading instead of a tab.
import { html } from "../lib/dom";
import { makeTabs } from "../lib/tabs";

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
  const numbered = sections.map((section, i) => ({ ...section, id: String(i) }));
  const tabs = makeTabs({ label, prefix, panelClass: "gradviz-section" }, numbered, (id) =>
    tabs.show(id),
  );
  tabs.show("0");
  element.append(tabs.bar, ...tabs.panels);
  return element;
}
