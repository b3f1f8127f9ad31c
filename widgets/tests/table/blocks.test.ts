import { beforeEach, describe, expect, it } from "vitest";
import type { Column, Row } from "../../src/documents/table";
import { Tooltip } from "../../src/lib/tooltip";
import { Store } from "../../src/model/store";
import { Table } from "../../src/table/table";
import { FakeModel } from "../support/model";

const COLUMNS: readonly Column[] = [
  { name: "name", kind: "text" },
  { name: "size", kind: "bytes" },
];
const cells = (name: string, size: number) => [{ text: name }, { text: `${size} B`, sort: size }];
const row = (level: number, id: string, size: number): Row => ({
  id,
  level,
  cells: cells(id, size),
});
const block = (level: number, name: string, size: number, inside: number, open = false): Row => ({
  id: "",
  level,
  inside,
  open,
  cells: cells(name, size),
});
const ROWS = [
  block(1, "total", 10, 4, true),
  block(2, "h", 6, 3),
  row(3, "n1", 1),
  row(3, "n2", 3),
  row(3, "n3", 2),
  row(2, "n4", 4),
];

const make = () => {
  const model = new FakeModel();
  const { signal } = new AbortController();
  const store = new Store(model, signal, (error) => {
    throw error;
  });
  const context = {
    store,
    signal,
    prefix: "test",
    tooltip: new Tooltip(document.body, signal),
    announce: () => {},
  };
  const table = new Table(context, "test-table", 10);
  document.body.append(table.element);
  table.show({ caption: "test", columns: COLUMNS, rows: ROWS });
  const all = (selector: string) => [...table.element.querySelectorAll<HTMLElement>(selector)];
  const names = () => all("tbody th").map((head) => head.textContent);
  const stops = () => all("tbody [tabindex='0']").map((button) => button.textContent);
  const button = (name: string) =>
    all("tbody button").find(({ textContent }) => textContent === name) as HTMLElement;
  return { model, table, all, names, stops, button };
};
const press = (key: string) =>
  document.activeElement?.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }),
  );

beforeEach(() => document.body.replaceChildren());

describe("rows in blocks", () => {
  it("are shown where their block is open, and counted where it is not", () => {
    const { table, names, button } = make();
    expect(names()).toEqual(["total", "h", "n4"]);
    expect(table.counts).toEqual([1, 4]);
    button("h").click();
    expect(names()).toEqual(["total", "h", "n1", "n2", "n3", "n4"]);
    expect(table.counts).toEqual([4, 4]);
    button("h").click();
    expect(names()).toEqual(["total", "h", "n4"]);
  });

  it("are a tree grid: levels, places, and which are open", () => {
    const { table, all, button } = make();
    button("h").click();
    expect(table.element.querySelector("table")?.getAttribute("role")).toBe("treegrid");
    const facts = ["aria-level", "aria-posinset", "aria-setsize", "aria-expanded"];
    expect(all("tbody tr").map((tr) => facts.map((name) => tr.getAttribute(name)))).toEqual([
      ["1", "1", "1", "true"],
      ["2", "1", "2", "true"],
      ["3", "1", "3", null],
      ["3", "2", "3", null],
      ["3", "3", "3", null],
      ["2", "2", "2", null],
    ]);
    expect(new Set(all("tbody td").map((td) => td.getAttribute("role")))).toEqual(
      new Set(["gridcell"]),
    );
  });

  it("open and close by arrow keys, which also go into them and out", () => {
    const { names, stops, button } = make();
    button("total").focus();
    press("ArrowRight");
    expect(stops()).toEqual(["h"]);
    press("ArrowRight");
    expect(names()).toEqual(["total", "h", "n1", "n2", "n3", "n4"]);
    expect(document.activeElement?.textContent).toBe("h");
    press("ArrowRight");
    expect(stops()).toEqual(["n1"]);
    press("ArrowRight");
    expect(stops()).toEqual(["n1"]);
    press("ArrowLeft");
    expect(stops()).toEqual(["h"]);
    press("ArrowLeft");
    expect(names()).toEqual(["total", "h", "n4"]);
    press("End");
    expect(stops()).toEqual(["n4"]);
  });

  it("all open and close at once", () => {
    const { table, names, stops, button } = make();
    let changes = 0;
    table.changed = () => {
      changes += 1;
    };
    table.openAll();
    expect(names()).toEqual(["total", "h", "n1", "n2", "n3", "n4"]);
    button("n3").focus();
    table.closeAll();
    expect(names()).toEqual(["total", "h", "n4"]);
    expect(document.activeElement?.textContent).toBe(stops()[0]);
    expect(changes).toBe(2);
  });

  it("stay in their block when they are sorted", () => {
    const { table, all, names } = make();
    table.openAll();
    const size = all("thead button").find((head) => head.textContent === "size");
    size?.click();
    expect(names()).toEqual(["total", "h", "n2", "n3", "n1", "n4"]);
    size?.click();
    expect(names()).toEqual(["total", "n4", "h", "n1", "n3", "n2"]);
  });

  it("are shown when they are selected elsewhere", () => {
    const { model, table, names, all } = make();
    model.set("selected", "n2");
    expect(names()).toEqual(["total", "h", "n4"]);
    table.reveal();
    expect(names()).toEqual(["total", "h", "n1", "n2", "n3", "n4"]);
    expect(all("tr.is-selected").map((tr) => tr.dataset.row)).toEqual(["n2"]);
  });

  it("select nothing where they are blocks", () => {
    const { model, button } = make();
    button("h").click();
    expect(model.state.selected ?? "").toBe("");
    button("n2").click();
    expect(model.state.selected).toBe("n2");
  });
});
