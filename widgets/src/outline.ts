// The same facts as a table: what a screen reader and a hurried reader use.
import type { Context } from "./context";
import { focusable, html, take } from "./dom";
import { findItems } from "./find";

/** Characters above which a cell gets more room. */
const LONG = 30;
const TEXT = 120;

export function makeOutline({ store }: Context): HTMLElement {
  const element = html("div", { class: "gradviz-outline" });
  let buttons: HTMLButtonElement[] = [];
  const rows = new Map<string, HTMLTableRowElement>();

  const setStop = (to: HTMLButtonElement | undefined) => {
    for (const button of buttons) button.tabIndex = button === to ? 0 : -1;
  };

  store.watch(["wire"], () => {
    const { outline, title } = store.get("wire");
    rows.clear();
    buttons = [];
    const body = html("tbody", { role: "rowgroup" });
    for (const { id, cells } of outline.rows) {
      const [first = "", ...others] = cells;
      const button = focusable(html("button", { type: "button", "data-row": id }, first || id), -1);
      const head = html("th", { scope: "row", role: "rowheader" }, button);
      const named = others.map((cell, i) => cellOf(cell, outline.columns[i + 1] ?? ""));
      const row = html("tr", { role: "row" }, head, ...named);
      row.addEventListener("click", () => store.set("selected", id));
      row.addEventListener("pointerenter", () => store.set("lit", id));
      row.addEventListener("pointerleave", () => store.set("lit", ""));
      buttons.push(button);
      rows.set(id, row);
      body.append(row);
    }
    const heads = outline.columns.map((column) =>
      html("th", { scope: "col", role: "columnheader" }, column),
    );
    const caption = html("caption", { class: "gradviz-hidden" }, title);
    const head = html("thead", { role: "rowgroup" }, html("tr", { role: "row" }, ...heads));
    element.replaceChildren(html("table", { role: "table" }, caption, head, body));
    setStop(buttons[0]);
  });

  store.watch(["wire", "selected"], () => {
    const selected = store.get("selected");
    for (const [id, row] of rows) {
      row.classList.toggle("is-selected", id === selected);
      row.querySelector("button")?.setAttribute("aria-pressed", String(id === selected));
    }
    const row = rows.get(selected);
    if (!row) return;
    setStop(row.querySelector("button") ?? undefined);
  });
  store.watch(["wire", "selected", "panel"], () => {
    const row = rows.get(store.get("selected"));
    // Measuring would lay out a table that nobody sees.
    if (row && store.get("panel") === "outline") scrollTo(element, row);
  });
  store.watch(["wire", "query"], () => {
    const found = findItems(store.get("wire").items, store.get("query")).map(({ id }) => id);
    for (const [id, row] of rows) row.classList.toggle("is-match", found.includes(id));
  });

  element.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(event.target as HTMLButtonElement);
    const last = buttons.length - 1;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    if (at < 0 || to === undefined) return;
    take(event);
    const goal = buttons[Math.max(0, Math.min(to, last))];
    setStop(goal);
    goal?.focus();
  });
  return element;
}

// The roles are those the elements have anyway; some browsers forget them when the style sheet
// stacks the cells of a narrow table.
function cellOf(text: string, column: string): HTMLElement {
  const size = text.length > TEXT ? "is-long is-text" : text.length > LONG ? "is-long" : undefined;
  return html("td", { class: size, role: "cell", "data-column": column }, text);
}

/** Like scrollIntoView, but the page around the widget stays where it is. */
function scrollTo(frame: HTMLElement, row: HTMLElement): void {
  const head = frame.querySelector("thead")?.offsetHeight ?? 0;
  const top = row.offsetTop - head;
  const bottom = row.offsetTop + row.offsetHeight - frame.clientHeight;
  if (frame.scrollTop > top) frame.scrollTop = top;
  else if (frame.scrollTop < bottom) frame.scrollTop = bottom;
}
