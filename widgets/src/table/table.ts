// A table: rows select and highlight their node or tensor, columns with a kind sort. One
// tab stop for the rows, one for the column heads that sort; the ARIA table pattern with buttons,
// of rows in blocks the treegrid pattern.

import type { Column, ColumnKind, Row, TableContent } from "../documents/table";
import { claim, focusable, html, scrollWithin, setProps } from "../lib/dom";
import { icon } from "../lib/icons";
import { roveTabindex } from "../lib/roving";
import { relatedTo } from "../model/related";
import type { PanelContext } from "../panel_context";
import { Blocks, isBlock } from "./blocks";
import { isNumeric, nextOrder, type Sorting, sortWords, UNSORTED } from "./sorting";
import { TableRow } from "./table_row";

const ARROWS = { none: "sort", ascending: "up", descending: "down" } as const;

export class Table {
  readonly element: HTMLElement;
  /** Called when blocks were opened or closed. */
  changed: () => void = () => {};
  readonly #context: PanelContext;
  /** Characters above which a cell may wrap. */
  readonly #long: number;
  readonly #table: HTMLElement;
  readonly #caption = html("caption", { class: "gradviz-hidden" });
  readonly #heads = html("tr", { role: "row" });
  readonly #body = html("tbody", { role: "rowgroup" });
  #content: TableContent = { caption: "", columns: [], rows: [] };
  #sorting: Sorting = UNSORTED;
  #blocks = new Blocks([]);
  #keys: ReadonlyMap<Row, string> = new Map();
  /** Keys of the blocks that are open. */
  #open = new Set<string>();
  /** Those that were shown; kept while their cells change, so that focus and place stay. */
  #rows = new Map<Row, TableRow>();
  /** Those that are shown, in their order. */
  #order: readonly TableRow[] = [];
  /** Key of the row that the focus or the selection was on last. */
  #visited = "";

  constructor(context: PanelContext, css: string, long: number) {
    this.#context = context;
    this.#long = long;
    const head = html("thead", { role: "rowgroup" }, this.#heads);
    this.#table = html("table", { role: "table" }, this.#caption, head, this.#body);
    this.element = html("div", { class: `gradviz-table ${css}` }, this.#table);
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
    const keys = new Map<Row, string>();
    const shown = new Map<Row, TableRow>();
    for (const [key, row] of keyed(content.rows)) {
      keys.set(row, key);
      const made = known.get(key);
      if (!made || made.isBlock !== isBlock(row)) continue;
      made.show(row, content.columns, this.#long);
      shown.set(row, made);
    }
    const isNew = !this.#keys.size;
    this.#keys = keys;
    this.#rows = shown;
    this.#blocks = new Blocks(content.rows);
    if (isNew) this.#open = this.#keysOf(({ open }) => open === true);
    this.#table.setAttribute("role", this.#blocks.exist ? "treegrid" : "table");
    this.#sort();
    const stop = this.#setStop();
    if (focused && !this.#focused) stop?.button?.focus();
  }

  /** Marks the rows about these ids as found. */
  showMatches(ids: ReadonlySet<string>): void {
    for (const { id, element } of this.#order) element.classList.toggle("is-match", ids.has(id));
  }

  /** Scrolls to the selected row, unless the focus is on another one. */
  reveal(): void {
    if (!this.#order.some(({ isSelected }) => isSelected)) this.#openSelected();
    const row = this.#order.find(({ isSelected }) => isSelected);
    if (row && !this.#focused) scrollWithin(this.element, row.element, this.#heads.offsetHeight);
  }

  /** How many rows are shown, and how many there are; blocks are none. */
  get counts(): readonly [number, number] {
    const shown = this.#order.filter((row) => !row.isBlock).length;
    return [shown, this.#content.rows.filter((row) => !isBlock(row)).length];
  }

  openAll(): void {
    this.#openThese(this.#keysOf(isBlock));
  }

  /** Closes all blocks but those that are in no other one. */
  closeAll(): void {
    this.#openThese(this.#keysOf((row) => isBlock(row) && row.level === 1));
  }

  #keysOf(which: (row: Row) => boolean): Set<string> {
    return new Set(this.#content.rows.filter(which).map((row) => this.#keys.get(row) ?? ""));
  }

  #openThese(keys: Set<string>): void {
    const focused = this.#focused;
    this.#open = keys;
    this.#sort();
    const stop = this.#setStop();
    if (focused && !this.#focused) stop?.button?.focus({ preventScroll: true });
    this.changed();
  }

  #toggle(key: string): void {
    const open = new Set(this.#open);
    if (!open.delete(key)) open.add(key);
    this.#visited = key;
    this.#openThese(open);
  }

  /** Opens the blocks around the first row that is selected. */
  #openSelected(): void {
    const selected = this.#context.store.get("selected");
    const row = selected ? this.#content.rows.find(({ id }) => id === selected) : undefined;
    const open = new Set(this.#open);
    for (let up = row && this.#blocks.above(row); up; up = this.#blocks.above(up))
      open.add(this.#keys.get(up) ?? "");
    if (open.size > this.#open.size) this.#openThese(open);
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
    const row = stops[at];
    if (row && this.#moveAcross(row, event)) return;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    if (at < 0 || to === undefined) return;
    claim(event);
    this.#focus(stops[Math.max(0, Math.min(to, last))]);
  }

  /** Right opens a block, then goes into it; left closes it, or goes to the one around. */
  #moveAcross(row: TableRow, event: KeyboardEvent): boolean {
    if (!this.#blocks.exist || !["ArrowRight", "ArrowLeft"].includes(event.key)) return false;
    claim(event);
    const isRight = event.key === "ArrowRight";
    const isOpen = row.isBlock && this.#open.has(row.key);
    if (row.isBlock && isOpen !== isRight) this.#toggle(row.key);
    else if (isRight && isOpen) this.#focus(this.#order[this.#order.indexOf(row) + 1]);
    else if (!isRight) this.#focus(this.#blockAround(row));
    return true;
  }

  #blockAround(row: TableRow): TableRow | undefined {
    const content = this.#content.rows.find((one) => this.#keys.get(one) === row.key);
    const above = content && this.#blocks.above(content);
    return above && this.#rows.get(above);
  }

  #focus(goal: TableRow | undefined): void {
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
    this.#keys = new Map();
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
    const isOpen = (row: Row) => this.#open.has(this.#keys.get(row) ?? "");
    this.#order = this.#blocks.shown(this.#sorting, isOpen).map(({ row, place, of }) => {
      const shown = this.#rows.get(row) ?? this.#make(row);
      if (row.level !== undefined) shown.place(row.level, place, of, isOpen(row));
      return shown;
    });
    const elements = this.#order.map(({ element }) => element);
    const kept = new Set<Element>(elements);
    for (const child of [...this.#body.children]) if (!kept.has(child)) child.remove();
    elements.forEach((row, i) => {
      if (this.#body.children[i] !== row)
        this.#body.insertBefore(row, this.#body.children[i] ?? null);
    });
    this.#markSelected();
    this.#markLit();
  }

  #make(row: Row): TableRow {
    const key = this.#keys.get(row) ?? "";
    const made = new TableRow(
      this.#context,
      key,
      row,
      () => this.#visit(key),
      () => this.#toggle(key),
    );
    made.show(row, this.#content.columns, this.#long);
    this.#rows.set(row, made);
    return made;
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
