// A table of things with ids: one tab stop, arrow keys between rows, rows kept while their cells
// change, so that the focus and the place stay.
import type { Context } from "./context";
import { focusable, html, scrollWithin, take } from "./dom";
import { lightOf } from "./steps";

/** Characters above which a cell gets more room. */
const LONG = 30;
const TEXT = 120;

export interface Rows {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly { readonly id: string; readonly cells: readonly string[] }[];
}

interface Row {
  readonly element: HTMLTableRowElement;
  readonly button: HTMLButtonElement;
  cells: readonly string[];
}

export interface Table {
  readonly element: HTMLElement;
  show(rows: Rows): void;
  row(id: string): HTMLTableRowElement | undefined;
  reveal(id: string): void;
}

export function makeTable({ store }: Context, css: string): Table {
  const element = html("div", { class: `gradviz-table ${css}` });
  const caption = html("caption", { class: "gradviz-hidden" });
  const heads = html("tr", { role: "row" });
  const body = html("tbody", { role: "rowgroup" });
  const head = html("thead", { role: "rowgroup" }, heads);
  element.append(html("table", { role: "table" }, caption, head, body));
  let columns: readonly string[] = [];
  let rows = new Map<string, Row>();

  /** What a row selects: a leaf's tensor is part of its node. */
  const itemOf = (id: string) => {
    const timeline = store.get("timeline");
    return timeline ? (timeline.itemOf(id) ?? "") : id;
  };
  /** The row that the focus or the selection was on last. */
  let visited = "";

  const setStop = () => {
    const stop = rows.get(visited) ?? [...rows.values()][0];
    for (const row of rows.values()) row.button.tabIndex = row === stop ? 0 : -1;
    return stop?.button;
  };

  function makeRow(id: string): Row {
    const button = focusable(html("button", { type: "button", "data-row": id }), -1);
    const head = html("th", { scope: "row", role: "rowheader" }, button);
    const row = html("tr", { role: "row", "data-row": id }, head);
    row.addEventListener("click", () => store.set("selected", itemOf(id)));
    row.addEventListener("pointerenter", () => store.set("lit", id));
    row.addEventListener("pointerleave", () => store.set("lit", ""));
    row.addEventListener("focusin", () => {
      visited = id;
      setStop();
      if (button.matches(":focus-visible")) store.set("lit", id);
    });
    row.addEventListener("focusout", () => store.set("lit", ""));
    return { element: row, button, cells: [] };
  }

  const show = (next: Rows) => {
    caption.textContent = next.title;
    if (next.columns.join("\n") !== columns.join("\n")) {
      columns = next.columns;
      rows = new Map();
      heads.replaceChildren(
        ...columns.map((column) => {
          const words = column.split(/(?<=_)/).flatMap((word) => [word, html("wbr")]);
          return html("th", { scope: "col", role: "columnheader" }, ...words);
        }),
      );
    }
    const focused = element.contains(document.activeElement);
    const kept = new Map<string, Row>();
    for (const { id, cells } of next.rows) {
      const row = rows.get(id) ?? makeRow(id);
      kept.set(id, row);
      if (row.cells.length === cells.length && row.cells.every((cell, i) => cell === cells[i])) {
        continue;
      }
      row.cells = cells;
      row.button.textContent = cells[0] || id;
      const others = cells.slice(1).map((cell, i) => cellOf(cell, columns[i + 1] ?? ""));
      row.element.replaceChildren(row.element.firstElementChild as Element, ...others);
    }
    rows = kept;
    const order = [...rows.values()].map((row) => row.element);
    if (order.some((row, i) => row !== body.children[i]) || order.length !== body.children.length) {
      place(body, order);
    }
    markSelected();
    markLit();
    const stop = setStop();
    if (focused && !element.contains(document.activeElement)) stop?.focus();
  };

  const markSelected = () => {
    const selected = store.get("selected");
    const within = element.contains(document.activeElement);
    for (const [id, { element, button }] of rows) {
      const on = selected !== "" && itemOf(id) === selected;
      element.classList.toggle("is-selected", on);
      button.setAttribute("aria-pressed", String(on));
      if (on && !within) visited = id;
    }
  };
  const markLit = () => {
    const light = lightOf(store.get("timeline"), store.get("lit"));
    for (const [id, { element }] of rows) element.classList.toggle("is-lit", light.has(id));
  };
  store.watch(["selected"], () => {
    markSelected();
    setStop();
  });
  store.watch(["lit"], markLit);

  element.addEventListener("keydown", (event) => {
    const buttons = [...rows.values()].map((row) => row.button);
    const at = buttons.indexOf(event.target as HTMLButtonElement);
    const last = buttons.length - 1;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    if (at < 0 || to === undefined) return;
    take(event);
    buttons[Math.max(0, Math.min(to, last))]?.focus();
  });
  return {
    element,
    show,
    row: (id) => rows.get(id)?.element,
    reveal: (id) => {
      const row = rows.get(id)?.element;
      if (row) scrollWithin(element, row, heads.offsetHeight);
    },
  };
}

/** Puts rows in order without moving those that stand right: moving one takes its focus. */
function place(body: HTMLElement, order: readonly HTMLElement[]): void {
  for (const child of [...body.children]) {
    if (!order.includes(child as HTMLElement)) child.remove();
  }
  order.forEach((row, i) => {
    if (body.children[i] !== row) body.insertBefore(row, body.children[i] ?? null);
  });
}

// The roles are those the elements have anyway; some browsers forget them when the style sheet
// stacks the cells of a narrow table.
function cellOf(text: string, column: string): HTMLElement {
  const size = text.length > TEXT ? "is-long is-text" : text.length > LONG ? "is-long" : undefined;
  return html("td", { class: size, role: "cell", "data-column": column }, text);
}
