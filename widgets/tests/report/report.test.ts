import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import golden from "../../../tests/golden/report/made_up.json";
import { parseDocument } from "../../src/documents/parse";
import type { Part } from "../../src/documents/parts";
import type { ReportDocument } from "../../src/documents/report";
import widget from "../../src/index";
import { FakeModel, wire as loss } from "../support/model";

// The stored document has no picture; this one has nodes of the same ids.
const report = {
  ...golden,
  density: "normal",
  pictures: loss.pictures,
} as unknown as ReportDocument;

// jsdom has neither; the browser tests cover what they do.
beforeEach(() => {
  vi.stubGlobal("CSS", { escape: (text: string) => text.replace(/[^\w-]/g, "\\$&") });
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  document.body.replaceChildren();
});

const mount = (wire: unknown = report) => {
  const model = new FakeModel({ wire });
  const el = document.body.appendChild(document.createElement("div"));
  widget.render({ model, el });
  const one = <T extends Element = HTMLElement>(selector: string) =>
    el.querySelector<T>(selector) as T;
  const all = (selector: string) => [...el.querySelectorAll<HTMLElement>(selector)];
  const names = () =>
    all(".gradviz-report-table tbody th").map((head) => head.firstChild?.textContent);
  const head = (name: string) =>
    all(".gradviz-report-table thead button").find((b) => b.textContent === name) as HTMLElement;
  return { model, el, one, all, names, head };
};
const press = (target: Element, key: string) =>
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const with_ = (changes: Partial<ReportDocument>): ReportDocument => ({ ...report, ...changes });
const only = <K extends Part["is"]>(kind: K) =>
  report.parts.filter((part): part is Extract<Part, { is: K }> => part.is === kind);
const [table] = only("Rows");
/** The report with other parts in place of those of a kind. */
const withParts = (kind: Part["is"], ...parts: unknown[]) =>
  with_({
    parts: [...report.parts.filter((part) => part.is !== kind), ...(parts as Part[])],
  });

describe("a report", () => {
  it("shows what Python stored", () => {
    const { one, all, names } = mount();
    expect(one(".gradviz-root").dataset.ready).toBe("true");
    expect(all(".gradviz-findings li").map((li) => li.textContent)).toEqual(
      only("ItemList")[0]?.items.flat(),
    );
    expect(names()).toEqual(["a", "b", "c", "frozen"]);
    expect(one(".gradviz-mark").textContent).toBe("∅ unreached");
    expect(all(".gradviz-viewport .gv-node")).toHaveLength(5);
    expect(one(".gradviz-figure svg")).not.toBeNull();
  });

  it("sorts by a click on a head, tells so, and comes back to its own order", () => {
    const { head, names, one } = mount();
    head("kept").click();
    expect(names()).toEqual(["b", "a", "c", "frozen"]);
    expect(one("[role=status]").textContent).toBe("sorted by kept: largest first");
    head("kept").click();
    expect(names()).toEqual(["a", "c", "b", "frozen"]);
    head("parameter").click();
    head("parameter").click();
    expect(names()).toEqual(["frozen", "c", "b", "a"]);
    head("parameter").click();
    expect(names()).toEqual(["a", "b", "c", "frozen"]);
  });

  it("says which column is sorted, and which way", () => {
    const { head, all } = mount();
    const sorts = () =>
      all(".gradviz-report-table th[scope=col]").map((th) => th.getAttribute("aria-sort"));
    head("norm").click();
    expect(sorts()).toEqual(["none", "none", "descending", "none", "none"]);
    head("parameter").click();
    expect(sorts()).toEqual(["ascending", "none", "none", "none", "none"]);
  });

  it("has one tab stop for the heads and one for the rows, and arrows between them", () => {
    const { all, head } = mount();
    const stops = (part: string) =>
      all(`.gradviz-report-table ${part} [tabindex="0"]`).map((b) => b.firstChild?.textContent);
    expect([stops("thead"), stops("tbody")]).toEqual([["parameter"], ["a"]]);
    head("parameter").focus();
    press(head("parameter"), "ArrowRight");
    expect(document.activeElement).toBe(head("reached"));
    const [first] = all(".gradviz-report-table tbody button");
    first?.focus();
    press(first as Element, "ArrowDown");
    expect(document.activeElement?.textContent).toBe("b");
    expect(stops("tbody")).toEqual(["b"]);
    press(document.activeElement as Element, "End");
    expect(document.activeElement?.textContent).toBe("c");
  });

  it("selects the node of a row and the rows of a node", () => {
    const { model, one, all } = mount();
    all(".gradviz-report-table tbody button")[1]?.click();
    expect(model.state.selected).toBe("n4");
    expect(one(".gradviz-viewport [data-id=n4]").classList).toContain("is-selected");
    model.set("selected", "n2");
    const pressed = all(".gradviz-report-table [aria-pressed=true]");
    expect(pressed.map((button) => button.textContent)).toEqual(["c"]);
  });

  it("highlights what the pointer is on in rows, figures and picture", () => {
    const { one, all } = mount();
    const over = (target: Element) =>
      target.dispatchEvent(new MouseEvent("pointerover", { bubbles: true }));
    all(".gradviz-report-table tbody tr")[0]?.dispatchEvent(new MouseEvent("pointerenter"));
    expect(one(".gradviz-viewport [data-id=n3]").classList).toContain("is-lit");
    over(one(".gradviz-viewport [data-id=n4] text"));
    expect(all(".gradviz-report-table tr.is-lit th button")[0]?.textContent).toBe("b");
    over(one(".gradviz-figure [data-id=n1] rect"));
    expect(one(".gradviz-viewport [data-id=n1]").classList).toContain("is-lit");
  });

  it("shows several tables one at a time", () => {
    const other = { ...table, caption: "Cuts", rows: table?.rows.slice(0, 1) };
    const empty = { ...table, caption: "Nothing", rows: [] };
    const { all, one } = mount(withParts("Rows", table, other, empty));
    const tabs = all(".gradviz-report [role=tab]");
    expect(tabs.map((tab) => tab.textContent)).toEqual(["Parameters (4)", "Cuts (1)", "Nothing"]);
    const shown = () => all(".gradviz-report [role=tabpanel]").map((panel) => !panel.hidden);
    tabs[0]?.focus();
    press(tabs[0] as Element, "ArrowRight");
    expect(shown()).toEqual([false, true, false]);
    press(document.activeElement as Element, "End");
    expect(one(".gradviz-report [role=tabpanel]:not([hidden])").textContent).toBe("No rows.");
  });

  it("does without a graph", () => {
    const { one, el } = mount(with_({ picture: null, pictures: {} }));
    expect(one(".gradviz-root").classList).toContain("has-no-picture");
    expect(el.querySelectorAll(".gradviz-viewport [data-id]")).toHaveLength(0);
    expect(one(".gradviz-figure svg")).not.toBeNull();
  });

  it("keeps the styles and ids of a figure to itself", () => {
    const { one } = mount();
    expect(one(".gradviz-figure style").textContent).toMatch(
      /^\.gradviz-root \.gradviz-figure-0\{/,
    );
  });

  it("takes nothing of a figure that could run or load", () => {
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script>' +
      '<image href="http://localhost/x"/><rect onclick="alert(1)" width="1" height="1"/></svg>';
    const { one, el } = mount(withParts("Image", { is: "Image", caption: "<b>x</b>", svg }));
    expect(el.querySelector("script, image, b")).toBeNull();
    const { attributes } = one(".gradviz-figure rect");
    expect([...attributes].map(({ name }) => name)).not.toContain("onclick");
  });

  it.each([
    [{ parts: [{ ...table, rows: [{ id: "n0" }] }] }, '"parts"'],
    [{ parts: [{ is: "ItemList", items: [1] }] }, '"parts"'],
    [{ picture: {} }, '"picture"'],
    [{ parts: [{ is: "Image", caption: "x" }] }, '"parts"'],
    [{ parts: [{ is: "Another" }] }, '"parts"'],
  ])("is refused when it is damaged", (changes, message) => {
    expect(() => parseDocument(with_(changes as never))).toThrow(message);
  });
});

describe("a table with blocks", () => {
  const cells = (name: string) => [
    { text: name, sort: name },
    ...(table?.columns.slice(1) ?? []).map(() => ({ text: "", sort: null })),
  ];
  const rows = [
    { id: "", mark: "", cells: cells("total"), level: 1, inside: 2, open: true },
    { id: "", mark: "", cells: cells("h"), level: 2, inside: 1, open: false },
    { id: "n1", mark: "", cells: cells("h.weight"), level: 3 },
    { id: "n3", mark: "", cells: cells("a"), level: 2 },
  ];
  const folded = () => withParts("Rows", { ...table, rows });

  it("opens and closes as a whole, and says how many rows are shown", () => {
    const { one, all, names } = mount(folded());
    const [open, close] = all(".gradviz-openers button");
    const said = () => one(".gradviz-openers span").textContent;
    expect([names().length, said()]).toEqual([3, "1 of 2 rows shown"]);
    open?.click();
    expect([names().length, said()]).toEqual([4, "all 2 rows shown"]);
    close?.click();
    expect([names().length, said()]).toEqual([3, "1 of 2 rows shown"]);
    const headings = all(".gradviz-sections > .gradviz-heading");
    expect(headings.at(-1)?.textContent).toContain("(2)");
  });

  it("opens what is selected in the picture", () => {
    const { model, all } = mount(folded());
    model.set("selected", "n1");
    expect(all("tr.is-selected").map((tr) => tr.dataset.row)).toEqual(["n1"]);
  });

  it("is refused where a level is no number", () => {
    const [first] = rows;
    const wrong = { ...table, rows: [{ ...first, level: "1" }] };
    expect(() => parseDocument(withParts("Rows", wrong))).toThrow();
  });
});
