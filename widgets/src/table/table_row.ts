// A row of a table: its node or tensor, its cells, and the button that takes the focus.

import type { Cell, Column, Row } from "../documents/table";
import { focusable, html, setProps } from "../lib/dom";
import { icon } from "../lib/icons";
import type { PanelContext } from "../panel_context";
import { isBlock } from "./blocks";
import { isNumeric } from "./sorting";

/** Characters above which a cell is a text of its own. */
const TEXT = 120;

export class TableRow {
  readonly key: string;
  readonly id: string;
  readonly element: HTMLTableRowElement;
  /** The button that takes the focus; rows without an id have none, but blocks. */
  readonly button: HTMLButtonElement | undefined;
  readonly isBlock: boolean;
  isSelected = false;
  readonly #context: PanelContext;
  readonly #head = html("th", { scope: "row", role: "rowheader" });
  #shown: Row | undefined;

  /** `toggle` opens and closes a block. */
  constructor(
    context: PanelContext,
    key: string,
    row: Row,
    visited: () => void,
    toggle: () => void = () => {},
  ) {
    const { id } = row;
    this.#context = context;
    this.key = key;
    this.id = id;
    this.isBlock = isBlock(row);
    const css = this.isBlock ? "is-block" : id ? undefined : "is-inert";
    const props = { role: "row", "data-row": id || undefined, class: css };
    this.element = html("tr", props, this.#head);
    if (!id && !this.isBlock) return;
    const button = focusable(html("button", { type: "button", "data-row": id || undefined }), -1);
    this.button = button;
    this.#head.append(button);
    if (this.isBlock) {
      this.element.addEventListener("click", () => {
        toggle();
        // The box that stands for all that is in it.
        if (id) context.store.set("selected", id);
      });
      this.element.addEventListener("focusin", visited);
    } else this.#listen(button, visited);
  }

  /** Where the row is among the others; of a block whether it is open. */
  place(level: number, place: number, of: number, open: boolean): void {
    const expanded = this.isBlock ? String(open) : undefined;
    const props = { "aria-level": level, "aria-posinset": place, "aria-setsize": of };
    setProps(this.element, { ...props, "aria-expanded": expanded });
    this.element.style.setProperty("--level", String(level));
    if (!this.isBlock || !this.button) return;
    setProps(this.button, { "aria-expanded": expanded });
    this.button.querySelector("svg")?.replaceWith(icon(open ? "down" : "right"));
  }

  /** Shows other cells; the head stays where it is, and with it the focus. */
  show(row: Row, columns: readonly Column[], long: number): void {
    if (this.#shown && same(row, this.#shown)) return;
    this.#shown = row;
    const { mark } = row;
    const [first, ...others] = row.cells;
    const name = first?.text || this.id;
    this.button?.replaceChildren(...(this.isBlock ? [icon("right"), name] : [name]));
    for (const child of [...this.#head.childNodes]) if (child !== this.button) child.remove();
    if (!this.button) this.#head.append(name);
    if (mark) this.#head.append(" ", html("span", { class: "gradviz-mark" }, mark));
    this.#head.classList.toggle("is-changed", first?.note !== undefined);
    this.#head.append(...noteOf(first));
    const role = row.level === undefined ? "cell" : "gridcell";
    const made = others.map((cell, i) => cellOf(cell, columns[i + 1], long, role));
    for (const child of [...this.element.children]) if (child !== this.#head) child.remove();
    this.element.append(...made);
  }

  setStop(on: boolean): void {
    if (this.button) this.button.tabIndex = on ? 0 : -1;
  }

  setSelected(selected: string): void {
    this.isSelected = selected !== "" && this.#item === selected;
    this.element.classList.toggle("is-selected", this.isSelected);
    if (!this.isBlock) this.button?.setAttribute("aria-pressed", String(this.isSelected));
  }

  /** What the row selects: a leaf's tensor is part of its node. */
  get #item(): string {
    const timeline = this.#context.store.get("timeline");
    return timeline ? (timeline.itemOf(this.id) ?? "") : this.id;
  }

  #listen(button: HTMLButtonElement, visited: () => void): void {
    const { element } = this;
    const { store } = this.#context;
    element.addEventListener("click", () =>
      store.set("selected", this.isSelected ? "" : this.#item),
    );
    element.addEventListener("pointerenter", () => store.set("lit", this.id));
    element.addEventListener("pointerleave", () => store.set("lit", ""));
    element.addEventListener("focusin", () => {
      visited();
      if (button.matches(":focus-visible")) store.set("lit", this.id);
    });
    element.addEventListener("focusout", () => store.set("lit", ""));
  }
}

function same(one: Row, other: Row): boolean {
  const alike = (cell: Cell, i: number) =>
    cell.text === other.cells[i]?.text && cell.note === other.cells[i]?.note;
  return (
    one.mark === other.mark && one.cells.length === other.cells.length && one.cells.every(alike)
  );
}

function noteOf(cell: Cell | undefined): HTMLElement[] {
  return cell?.note === undefined ? [] : [html("span", { class: "gradviz-was" }, cell.note)];
}

// The roles are those the elements have anyway; some browsers forget them when the style sheet
// stacks the cells of a narrow table.
function cellOf(cell: Cell, column: Column | undefined, long: number, role: string): HTMLElement {
  const { length } = cell.text;
  const size = length > TEXT ? ["is-long", "is-text"] : length > long ? ["is-long"] : [];
  const css = column?.kind && isNumeric(column.kind) ? ["is-number"] : size;
  if (cell.note !== undefined) css.push("is-changed");
  const props = { class: css.join(" ") || undefined, role, "data-column": column?.name };
  return html("td", props, cell.text, ...noteOf(cell));
}
