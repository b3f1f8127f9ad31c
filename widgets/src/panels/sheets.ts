// Closed panels under the graph: a strip of buttons, each opens one panel and closes the others.

import { focusable, html } from "../lib/dom";
import { roveTabindex } from "../lib/roving";
import type { Panel } from "../model/store";
import type { PanelContext } from "../panel_context";

export interface Sheet {
  readonly id: Exclude<Panel, "">;
  readonly label: string;
  readonly content: HTMLElement;
  /** Whether the document has something for it. */
  readonly offered: () => boolean;
}

export interface Sheets {
  readonly strip: HTMLElement;
  readonly panels: readonly HTMLElement[];
  /** Closes the open one; says whether there was one. */
  close(): boolean;
  /** Opens one and moves the focus into it. */
  open(id: Sheet["id"]): void;
}

export function makeSheets({ store, prefix }: PanelContext, sheets: readonly Sheet[]): Sheets {
  const made = sheets.map((sheet) => {
    const [buttonId, panelId] = [`${prefix}-tab-${sheet.id}`, `${prefix}-panel-${sheet.id}`];
    const props = { type: "button", class: "gradviz-tab", id: buttonId, "aria-controls": panelId };
    const button = focusable(html("button", props, sheet.label));
    button.addEventListener("click", () => {
      store.set("panel", store.get("panel") === sheet.id ? "" : sheet.id);
    });
    const panel = html(
      "div",
      {
        class: `gradviz-panel is-${sheet.id}`,
        role: "group",
        id: panelId,
        "aria-labelledby": buttonId,
      },
      sheet.content,
    );
    return { ...sheet, button, panel };
  });
  const strip = html("div", { class: "gradviz-tabs", role: "toolbar", "aria-label": "Panels" });
  strip.append(...made.map(({ button }) => button));

  store.watch(["wire"], () => {
    for (const { button, offered } of made) button.hidden = !offered();
    if (!made.some(({ id, button }) => id === store.get("panel") && !button.hidden)) {
      store.set("panel", "");
    }
  });
  roveTabindex(strip);
  store.watch(["panel"], () => {
    const shown = store.get("panel");
    for (const { id, button, panel } of made) {
      button.setAttribute("aria-expanded", String(id === shown));
      panel.hidden = id !== shown;
    }
  });

  const close = () => {
    const open = made.find(({ id }) => id === store.get("panel"));
    if (!open) return false;
    if (open.panel.contains(document.activeElement)) open.button.focus();
    store.set("panel", "");
    return true;
  };
  const open = (id: Sheet["id"]) => {
    store.set("panel", id);
    const panel = made.find((sheet) => sheet.id === id)?.panel;
    panel?.querySelector<HTMLElement>("button[tabindex='0']")?.focus();
  };
  return { strip, panels: made.map(({ panel }) => panel), close, open };
}
