// A graph of which only a part is drawn: it is found, listed and explained as a whole.
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Item } from "../../src/documents/graph";
import widget from "../../src/index";
import { FakeModel, wire } from "../support/model";

const HIDDEN = 1200;
const extent = {
  words: `5 of ${HIDDEN + 5} nodes are drawn: n0 to n4. Find, Outline and totals cover all.`,
  subject: "loss",
  example: "n5",
};
const ids = Array.from({ length: HIDDEN }, (_, i) => `n${i + 5}`);
const items: Item[] = ids.map((id) => ({
  id,
  kind: "node",
  label: "SinBackward0",
  aria: "SinBackward0",
  find: `${id} sinbackward0 holds h${id}`,
  next: [],
  prev: [],
  details: [],
  is_drawn: false,
}));
const rows = ids.map((id) => ({
  id,
  cells: [id, "SinBackward0", "holds", "made by h = h.sin()"],
}));
const large = {
  ...wire,
  extent,
  items: [...wire.items, ...items],
  outline: { ...wire.outline, rows: [...wire.outline.rows, ...rows] },
};

const mount = (state = {}, send?: () => void) => {
  const model = Object.assign(new FakeModel({ wire: large, ...state }), { send });
  const el = document.body.appendChild(document.createElement("div"));
  widget.render({ model, el });
  const one = <T extends Element = HTMLElement>(selector: string) =>
    el.querySelector<T>(selector) as T;
  const all = (selector: string) => [...el.querySelectorAll<HTMLElement>(selector)];
  const open = (panel: string) => one(`[id$="-tab-${panel}"]`).click();
  const find = (query: string) => {
    const input = one<HTMLInputElement>(".gradviz-find input");
    input.value = query;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    press(input, "Enter");
  };
  return { model, one, all, open, find };
};
const press = (target: Element, key: string) =>
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const NOT_DRAWN = "Not drawn. To see it and what is near:";

afterEach(() => document.body.replaceChildren());

describe("of a large graph", () => {
  it("a line says what is drawn and what to type", () => {
    const { one } = mount();
    expect(one(".gradviz-extent").textContent).toBe(
      `${extent.words} To draw others: gradviz.show(loss, focus="n5")`,
    );
    expect(one(".gradviz-extent").closest(".gradviz-graph")).not.toBeNull();
  });

  it("that is drawn whole nothing is said", () => {
    const { one } = mount({ wire });
    expect(one(".gradviz-extent").hidden).toBe(true);
    expect(one(".gradviz-pager").hidden).toBe(true);
  });

  it("Find counts and reaches what is not drawn, with its facts and the way to it", () => {
    const { model, one, find } = mount();
    find("SinBackward0");
    expect(one(".gradviz-count").textContent).toBe("1/1200");
    find("hn1000");
    expect(model.state.selected).toBe("n1000");
    expect(one(".gradviz-count").textContent).toBe("1/1");
    expect(one("[role=status]").textContent).toBe("match 1 of 1: SinBackward0, not drawn");
    const told = one(".gradviz-inspector").textContent;
    expect(told).toContain(`${NOT_DRAWN} gradviz.show(loss, focus="n1000")`);
    expect(told).toContain("made by h = h.sin()");
  });

  it("of what is drawn nothing of the kind is said", () => {
    const { one } = mount({ selected: "n1" });
    expect(one(".gradviz-inspector").textContent).not.toContain("Not drawn");
  });

  it("the outline has pages, and opens at the selected row", () => {
    const { all, one, open, find } = mount();
    const shown = () => all(".gradviz-outline tbody tr").map(({ dataset }) => dataset.row);
    const said = () => one(".gradviz-pager > :last-child").textContent;
    open("outline");
    const total = large.outline.rows.length;
    expect(said()).toBe(`rows 1 to 500 of ${total.toLocaleString("en")}`);
    expect(shown()).toHaveLength(500);
    const [previous, next] = all(".gradviz-pager button");
    expect(previous?.getAttribute("aria-disabled")).toBe("true");
    next?.click();
    expect(said()).toContain("rows 501 to 1,000 of");
    find("hn1200");
    expect(shown()).toContain("n1200");
    expect(one(".gradviz-outline tr.is-selected").dataset.row).toBe("n1200");
    expect(one(".gradviz-outline tr.is-match").dataset.row).toBe("n1200");
    expect(next?.getAttribute("aria-disabled")).toBe("true");
    next?.click();
    expect(shown()).toContain("n1200");
  });

  it("a key or a button asks the kernel for the part around a node, where there is one", () => {
    const { model, one, find } = mount({ focus: "" }, vi.fn());
    find("hn1000");
    press(one(".gradviz-root"), "n");
    expect(model.state.focus).toBe("n1000");
    find("hn1100");
    one(".gradviz-undrawn button").click();
    expect(model.state.focus).toBe("n1100");
    expect(one("[role=status]").textContent).toBe("draws SinBackward0 and the nodes near it");
    model.set("selected", "n1");
    press(one(".gradviz-root"), "n");
    expect(model.state.focus).toBe("n1100");
  });

  it("without a kernel there is only what to type", () => {
    const { model, one, all, find } = mount();
    find("hn1000");
    press(one(".gradviz-root"), "n");
    expect(model.state.focus).toBeUndefined();
    expect(all(".gradviz-undrawn button")).toEqual([]);
  });
});
