import { beforeEach, describe, expect, it } from "vitest";
import type { Column, Row, TableContent } from "../../src/documents/table";
import { Tooltip } from "../../src/lib/tooltip";
import { Store } from "../../src/model/store";
import { Table } from "../../src/table/table";
import { FakeModel } from "../support/model";

const make = () => {
  const model = new FakeModel();
  const { signal } = new AbortController();
  const store = new Store(model, signal, (error) => {
    throw error;
  });
  const said: string[] = [];
  const context = {
    store,
    signal,
    prefix: "test",
    tooltip: new Tooltip(document.body, signal),
    announce: (sentence: string) => said.push(sentence),
  };
  const table = new Table(context, "test-table", 10);
  document.body.append(table.element);
  const all = (selector: string) => [...table.element.querySelectorAll<HTMLElement>(selector)];
  const names = () => all("tbody th").map((head) => head.textContent);
  const stops = () => all("tbody [tabindex='0']").map((button) => button.textContent);
  return { model, table, all, names, stops, said };
};
const press = (key: string) =>
  document.activeElement?.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }),
  );
const row = (id: string, name: string, size: number): Row => ({
  id,
  cells: [{ text: name }, { text: `${size} B`, sort: size }],
});
const SORTING: readonly Column[] = [
  { name: "name", kind: "text" },
  { name: "size", kind: "bytes" },
];
const ROWS = [row("n0", "a", 2), row("n1", "b", 3), row("", "all", 9), row("n1", "c", 1)];
const of = (rows: readonly Row[], columns = SORTING): TableContent => ({
  caption: "test",
  columns,
  rows,
});

beforeEach(() => document.body.replaceChildren());

describe("a table", () => {
  it("selects what a row is about, and nothing when it is pressed again", () => {
    const { model, table, all } = make();
    table.show(of(ROWS));
    const [button] = all("tbody button");
    button?.click();
    expect([model.state.selected, button?.getAttribute("aria-pressed")]).toEqual(["n0", "true"]);
    button?.click();
    expect([model.state.selected, button?.getAttribute("aria-pressed")]).toEqual(["", "false"]);
  });

  it("may have several rows about one thing, and rows about nothing", () => {
    const { model, table, all, names } = make();
    table.show(of(ROWS));
    model.set("selected", "n1");
    expect(names()).toEqual(["a", "b", "all", "c"]);
    expect(all("tr.is-selected button").map((button) => button.textContent)).toEqual(["b", "c"]);
    expect(all("tr.is-inert button")).toEqual([]);
  });

  it("goes from row to row past those about nothing, and stays at the ends", () => {
    const { table, all, stops } = make();
    table.show(of(ROWS));
    all("tbody button")[1]?.focus();
    press("ArrowDown");
    expect(stops()).toEqual(["c"]);
    press("ArrowDown");
    expect(document.activeElement?.textContent).toBe("c");
    press("Home");
    expect(stops()).toEqual(["a"]);
  });

  it("keeps rows, focus and order while cells change", () => {
    const { table, all, names } = make();
    table.show(of(ROWS));
    all("thead button")[1]?.click();
    const [first] = all("tbody tr");
    all("tbody button")[0]?.focus();
    table.show(of([row("n0", "a", 2), row("n1", "B", 4), row("", "all", 9)]));
    expect(names()).toEqual(["all", "B", "a"]);
    expect(all("tbody tr")[0]).toBe(first);
    expect(document.activeElement?.textContent).toBe("B");
  });

  it("hands the focus on when its row is gone", () => {
    const { table, all } = make();
    table.show(of(ROWS));
    all("tbody button")[2]?.focus();
    table.show(of(ROWS.slice(0, 2)));
    expect(document.activeElement?.textContent).toBe("a");
  });

  it("forgets the order with the columns it was made by", () => {
    const { table, all, names } = make();
    table.show(of(ROWS));
    all("thead button")[1]?.click();
    table.show(of(ROWS, [{ name: "name" }, { name: "size" }]));
    expect(names()).toEqual(["a", "b", "all", "c"]);
    expect(all("thead button")).toEqual([]);
  });

  it("says how it is sorted", () => {
    const { table, all, said } = make();
    table.show(of(ROWS));
    all("thead button")[1]?.click();
    expect(said).toEqual(["sorted by size: largest first"]);
  });

  it("tells in words what is new in a cell", () => {
    const { table, all } = make();
    const noted: Row = { id: "n0", cells: [{ text: "a", note: "new" }, { text: "2" }] };
    table.show(of([noted]));
    expect(all(".is-changed").map((cell) => cell.textContent)).toEqual(["anew"]);
    table.show(of([{ ...noted, cells: [{ text: "a" }, { text: "2", note: "was 1" }] }]));
    expect(all(".is-changed").map((cell) => cell.textContent)).toEqual(["2was 1"]);
  });
});
