// A table: rows select and highlight their node or tensor, columns with a kind sort. One
// tab stop for the rows, one for the column heads that sort; the ARIA table pattern with buttons.
import type { ColumnKind } from "../documents/report";
import { claim, focusable, html, scrollWithin, setProps } from "../lib/dom";
import { icon } from "../lib/icons";
import { roveTabindex } from "../lib/roving";
import { relatedTo } from "../model/related";
import type { PanelContext } from "../panel_context";
import { isNumeric, nextOrder, type Sorting, sortRows, sortWords, UNSORTED } from "./sorting";
import type { Column, Row, TableContent } from "./table_content";
import { TableRow } from "./table_row";

const ARROWS = { none: "sort", ascending: "up", descending: "down" } as const;

export class Table {
  readonly element: HTMLElement;
  readonly #context: PanelContext;
  /** Characters above which a cell may wrap. */
  readonly #long: number;
  readonly #caption = html("caption", { class: "gradviz-hidden" });
  readonly #heads = html("tr", { role: "row" });
  readonly #body = html("tbody", { role: "rowgroup" });
  #content: TableContent = { caption: "", columns: [], rows: [] };
  #sorting: Sorting = UNSORTED;
  /** In the order of the content; kept while their cells change, so that focus and place stay. */
  #rows: ReadonlyMap<Row, TableRow> = new Map();
  /** The same in the order they are shown. */
  #order: readonly TableRow[] = [];
  /** Key of the row that the focus or the selection was on last. */
  #visited = "";

  constructor(context: PanelContext, css: string, long: number) {
    this.#context = context;
    this.#long = long;
    const head = html("thead", { role: "rowgroup" }, this.#heads);
    const table = html("table", { role: "table" }, this.#caption, head, this.#body);
    this.element = html("div", { class: `gradviz-table ${css}` }, table);
    this.#body.addEventListener("keydown", (event) => this.#move(event));
    context.store.watch(["selected"], () => {
      this.#markSelected();
      this.#setStop();
    });
    context.store.watch(["lit"], () => this.#markLit());
  }

  /** Shows other rows; what was sorted stays sorted while the columns are the same. */
  show(content: TableContent): void {
    this.#caption.textContent = content.caption;
    if (signatureOf(content) !== signatureOf(this.#content)) this.#showHeads(content.columns);
    this.#content = content;
    const focused = this.#focused;
    const known = new Map([...this.#rows.values()].map((row) => [row.key, row]));
    const shown = new Map<Row, TableRow>();
    for (const [key, row] of keyed(content.rows)) {
      const made =
        known.get(key) ?? new TableRow(this.#context, key, row.id, () => this.#visit(key));
      made.show(row, content.columns, this.#long);
      shown.set(row, made);
    }
    this.#rows = shown;
    this.#sort();
    this.#markSelected();
    this.#markLit();
    const stop = this.#setStop();
    if (focused && !this.#focused) stop?.button?.focus();
  }

  /** Marks the rows about these ids as found. */
  showMatches(ids: ReadonlySet<string>): void {
    for (const { id, element } of this.#order) element.classList.toggle("is-match", ids.has(id));
  }

  /** Scrolls to the selected row, unless the focus is on another one. */
  reveal(): void {
    const row = this.#order.find(({ isSelected }) => isSelected);
    if (row && !this.#focused) scrollWithin(this.element, row.element, this.#heads.offsetHeight);
  }

  get #focused(): boolean {
    return this.element.contains(document.activeElement);
  }

  #visit(key: string): void {
    this.#visited = key;
    this.#setStop();
  }

  #setStop(): TableRow | undefined {
    const stops = this.#order.filter(({ button }) => button);
    const stop = stops.find(({ key }) => key === this.#visited) ?? stops[0];
    for (const row of stops) row.setStop(row === stop);
    return stop;
  }

  #move(event: KeyboardEvent): void {
    const stops = this.#order.filter(({ button }) => button);
    const at = stops.findIndex(({ button }) => button === event.target);
    const last = stops.length - 1;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    if (at < 0 || to === undefined) return;
    claim(event);
    const goal = stops[Math.max(0, Math.min(to, last))];
    goal?.button?.focus({ preventScroll: true });
    // The browser alone would leave the row under the header.
    if (goal) scrollWithin(this.element, goal.element, this.#heads.offsetHeight);
    goal?.element.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }

  #markSelected(): void {
    const { store } = this.#context;
    for (const row of this.#order) row.setSelected(store.get("selected"));
    const first = this.#order.find(({ isSelected }) => isSelected);
    if (first && !this.#focused) this.#visited = first.key;
  }

  #markLit(): void {
    const { store } = this.#context;
    const light = relatedTo(store.get("timeline"), store.get("lit"));
    for (const { id, element } of this.#order) element.classList.toggle("is-lit", light.has(id));
  }

  #showHeads(columns: readonly Column[]): void {
    this.#sorting = UNSORTED;
    this.#rows = new Map();
    this.#heads.replaceChildren(
      ...columns.map((column, i) =>
        column.kind ? this.#sortingHead(column, column.kind, i) : plainHead(column),
      ),
    );
    if (columns.some(({ kind }) => kind)) roveTabindex(this.#heads);
  }

  #sortingHead({ name, help }: Column, kind: ColumnKind, index: number): HTMLElement {
    const button = focusable(html("button", { type: "button" }, name, icon("sort")));
    setProps(button, { "aria-description": help || undefined });
    button.addEventListener("click", () => this.#sortBy(index, name, kind));
    this.#context.tooltip.attach(button, () => `${help ? `${help}\n` : ""}Sort by ${name}`);
    const css = isNumeric(kind) ? "is-number" : undefined;
    const props = { scope: "col", role: "columnheader", "aria-sort": "none", class: css };
    return html("th", props, button);
  }

  #sortBy(column: number, name: string, kind: ColumnKind): void {
    const before = this.#sorting.column === column ? this.#sorting.order : "none";
    this.#sorting = { column, order: nextOrder(before, kind) };
    this.#visited = "";
    this.#sort();
    this.#setStop();
    [...this.#heads.children].forEach((head, i) => {
      const order = i === column ? this.#sorting.order : "none";
      head.setAttribute("aria-sort", order);
      head.querySelector("svg")?.replaceWith(icon(ARROWS[order]));
    });
    this.#context.announce(`sorted by ${name}: ${sortWords(this.#sorting, kind)}`);
  }

  /** Sorts the rows and moves only misplaced ones: a moved row loses its focus. */
  #sort(): void {
    const sorted = sortRows(this.#content.rows, this.#sorting);
    this.#order = sorted.flatMap((row) => this.#rows.get(row) ?? []);
    const elements = this.#order.map(({ element }) => element);
    const kept = new Set<Element>(elements);
    for (const child of [...this.#body.children]) if (!kept.has(child)) child.remove();
    elements.forEach((row, i) => {
      if (this.#body.children[i] !== row)
        this.#body.insertBefore(row, this.#body.children[i] ?? null);
    });
  }
}

function signatureOf({ columns }: TableContent): string {
  return columns.map(({ name, kind = "" }) => `${name}\t${kind}`).join("\n");
}

/** Rows with unique keys: several rows may have the same id, or none. */
function* keyed(rows: readonly Row[]): Iterable<readonly [string, Row]> {
  const seen = new Map<string, number>();
  for (const row of rows) {
    const number = seen.get(row.id) ?? 0;
    seen.set(row.id, number + 1);
    yield [`${row.id} ${number}`, row];
  }
}

/** A long name may be wrapped after an underscore. */
function plainHead({ name }: Column): HTMLElement {
  const words = name.split(/(?<=_)/).flatMap((word) => [word, html("wbr")]);
  return html("th", { scope: "col", role: "columnheader" }, ...words);
}
