// A table of findings: every column sorts, rows and the picture light up and select each other.
// One tab stop for the column heads, one for the rows.
import type { Context } from "./context";
import { focusable, html, icon, scrollWithin, setProps, take } from "./dom";
import type { Column, ReportRow, ReportTable } from "./report_wire";
import { isNumeric, nextOrder, type Sorting, sortRows, sortWords } from "./sort";
import { rove } from "./toolbar";

/** Characters above which a cell may wrap. */
const LONG = 24;

const ARROWS = { none: "sort", ascending: "up", descending: "down" } as const;

interface Row {
  readonly wire: ReportRow;
  readonly element: HTMLTableRowElement;
  /** What takes the focus; rows about nothing in the picture have none. */
  readonly button: HTMLButtonElement | undefined;
}

/** The table and what must be told to it; it lives as long as `signal`. */
export function makeSortedTable(context: Context, table: ReportTable): HTMLElement {
  const { store, announce } = context;
  const heads = html("tr", { role: "row" });
  const body = html("tbody", { role: "rowgroup" });
  const caption = html("caption", { class: "gradviz-hidden" }, table.caption);
  const element = html(
    "div",
    { class: "gradviz-table gradviz-report-table" },
    html("table", { role: "table" }, caption, html("thead", { role: "rowgroup" }, heads), body),
  );
  let sorting: Sorting = { column: 0, order: "none" };
  const rows = new Map(table.rows.map((wire) => [wire, makeRow(context, wire, table.columns)]));
  let order = [...rows.values()];
  let visited: Row | undefined;

  const buttons = () => order.flatMap(({ button }) => button ?? []);
  const setStop = () => {
    const stop = visited?.button ?? buttons()[0];
    for (const button of buttons()) button.tabIndex = button === stop ? 0 : -1;
  };
  const sort = (column: number) => {
    const { kind, name } = table.columns[column] as Column;
    const before = sorting.column === column ? sorting.order : "none";
    sorting = { column, order: nextOrder(before, kind) };
    order = sortRows(table.rows, sorting).flatMap((wire) => rows.get(wire) ?? []);
    body.append(...order.map((row) => row.element));
    [...heads.children].forEach((head, i) => {
      const order = i === column ? sorting.order : "none";
      head.setAttribute("aria-sort", order);
      head.querySelector("svg")?.replaceWith(icon(ARROWS[order]));
    });
    visited = undefined;
    setStop();
    announce(`sorted by ${name}: ${sortWords(sorting, kind)}`);
  };

  heads.append(...table.columns.map((column, i) => makeHead(context, column, () => sort(i))));
  rove(heads);
  body.append(...order.map((row) => row.element));
  setStop();
  element.addEventListener("focusin", (event) => {
    const row = order.find(({ button }) => button === event.target);
    if (!row) return;
    visited = row;
    setStop();
  });
  body.addEventListener("keydown", (event) => {
    const all = buttons();
    const at = all.indexOf(event.target as HTMLButtonElement);
    const last = all.length - 1;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    if (at < 0 || to === undefined) return;
    take(event);
    const goal = all[Math.max(0, Math.min(to, last))];
    goal?.focus({ preventScroll: true });
    const row = goal?.closest("tr");
    if (row) scrollWithin(element, row, heads.offsetHeight);
  });

  store.watch(["selected"], () => {
    const selected = store.get("selected");
    for (const { wire, element, button } of order) {
      const on = selected !== "" && wire.id === selected;
      element.classList.toggle("is-selected", on);
      button?.setAttribute("aria-pressed", String(on));
    }
    const first = order.find(({ wire }) => selected !== "" && wire.id === selected);
    if (!first || element.contains(document.activeElement)) return;
    visited = first;
    setStop();
    scrollWithin(element, first.element, heads.offsetHeight);
  });
  store.watch(["lit"], () => {
    const lit = store.get("lit");
    for (const { wire, element } of order) {
      element.classList.toggle("is-lit", lit !== "" && wire.id === lit);
    }
  });
  return element;
}

function makeHead(context: Context, column: Column, sort: () => void): HTMLElement {
  const button = focusable(html("button", { type: "button" }, column.name, icon("sort")));
  const help = column.help ? `${column.help}\n` : "";
  setProps(button, { "aria-description": column.help || undefined });
  button.addEventListener("click", sort);
  context.tooltip.attach(button, () => `${help}Sort by ${column.name}`);
  const css = isNumeric(column.kind) ? "is-number" : undefined;
  return html(
    "th",
    { scope: "col", role: "columnheader", "aria-sort": "none", class: css },
    button,
  );
}

function makeRow({ store }: Context, wire: ReportRow, columns: readonly Column[]): Row {
  const [first, ...others] = wire.cells.map((cell, i) => ({ ...cell, column: columns[i] }));
  const words = first?.text || wire.id;
  const button = wire.id ? focusable(html("button", { type: "button" }, words), -1) : undefined;
  const mark = wire.mark ? [" ", html("span", { class: "gradviz-mark" }, wire.mark)] : [];
  const props = { scope: "row", role: "rowheader", "data-column": columns[0]?.name };
  const head = html("th", props, button ?? words, ...mark);
  const element = html("tr", { role: "row", class: button ? undefined : "is-inert" }, head);
  for (const { text, column } of others) {
    const css = column && isNumeric(column.kind) ? "is-number" : text.length > LONG && "is-long";
    const name = { role: "cell", class: css || undefined, "data-column": column?.name };
    element.append(html("td", name, text));
  }
  if (button) {
    element.addEventListener("click", () => {
      store.set("selected", store.get("selected") === wire.id ? "" : wire.id);
    });
    element.addEventListener("pointerenter", () => store.set("lit", wire.id));
    element.addEventListener("pointerleave", () => store.set("lit", ""));
    element.addEventListener("focusin", () => {
      if (button.matches(":focus-visible")) store.set("lit", wire.id);
    });
    element.addEventListener("focusout", () => store.set("lit", ""));
  }
  return { wire, element, button };
}
