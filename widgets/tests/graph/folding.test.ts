import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import widget from "../../src/index";
import { foldedWire, folding, items, lateInside } from "../support/folded";
import { FakeModel } from "../support/model";

beforeEach(() => {
  vi.stubGlobal("CSS", { escape: (text: string) => text.replace(/[^\w-]/g, "\\$&") });
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  document.body.replaceChildren();
});

/** A model with a kernel, which answers when it is told to. */
class WithKernel extends FakeModel {
  readonly asked: { ask: unknown; number: string }[] = [];
  #custom = new Set<(content?: unknown, buffers?: readonly DataView<ArrayBuffer>[]) => void>();
  send = (content: unknown) => {
    const asked = content as { ask: unknown; number: string };
    if (asked.ask) this.asked.push(asked);
  };
  override on(event: string, listener: () => void): void {
    if (event === "msg:custom") this.#custom.add(listener);
    else super.on(event, listener);
  }
  override off(event: string, listener: () => void): void {
    if (event === "msg:custom") this.#custom.delete(listener);
    else super.off(event, listener);
  }
  async answer(place: number, told: unknown, error = ""): Promise<void> {
    const bytes = new DataView(new TextEncoder().encode(JSON.stringify(told)).buffer);
    const content = { answer: this.asked[place]?.number, error };
    for (const listener of [...this.#custom]) listener(content, error ? [] : [bytes]);
    await settled();
  }
}

const settled = () => new Promise((done) => setTimeout(done, 0));

const mount = (state = {}, model: FakeModel = new FakeModel({ wire: foldedWire, ...state })) => {
  const el = document.body.appendChild(document.createElement("div"));
  const end = widget.render({ model, el });
  const one = <T extends Element = HTMLElement>(selector: string) =>
    el.querySelector<T>(selector) as T;
  const all = (selector: string) => [...el.querySelectorAll<HTMLElement>(selector)];
  const shape = (id: string) => one<SVGGElement>(`.gradviz-viewport [data-id="${id}"]`);
  const cards = () => all(".gradviz-viewport .gv-node").map(({ dataset }) => dataset.id);
  const frames = () => all(".gradviz-viewport .gv-open").map(({ dataset }) => dataset.id);
  const said = () => one("[role=status].gradviz-hidden").textContent;
  const crumbs = () => all(".gradviz-crumb").map((crumb) => crumb.textContent);
  const marked = (name: string) =>
    all(`.gradviz-viewport [data-id].${name}`).map(({ dataset }) => dataset.id);
  return { model, el, end, one, all, shape, cards, frames, said, crumbs, marked };
};

const press = (target: Element, key: string, more: KeyboardEventInit = {}) =>
  target.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }),
  );
const click = (target: Element, more: MouseEventInit = {}) =>
  target.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1, ...more }));
const type = (input: HTMLInputElement, text: string) => {
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
};

describe("a folded graph", () => {
  it("opens as the document says, each box a button that says whether it is open", () => {
    const { cards, frames, shape, crumbs } = mount();
    expect(cards()).toEqual(["n9", "f1", "n0"]);
    expect(frames()).toEqual([]);
    expect(shape("f1").getAttribute("role")).toBe("button");
    expect(shape("f1").getAttribute("aria-expanded")).toBe("false");
    expect(shape("n0").getAttribute("role")).toBe("img");
    expect(crumbs()).toEqual(["graph of loss"]);
  });

  it("unfolds and folds with Enter, the focus stays on the box", () => {
    const { cards, frames, shape, said, model } = mount();
    shape("f1").focus();
    press(shape("f1"), "Enter");
    expect(frames()).toEqual(["f1"]);
    expect(cards()).toEqual(["n9", "f2", "f3", "n0"]);
    expect(shape("f1").getAttribute("aria-expanded")).toBe("true");
    expect(document.activeElement).toBe(shape("f1"));
    expect(said()).toBe("unfolded: model · Net, 2 inside");
    press(shape("f1"), "Enter");
    expect(cards()).toEqual(["n9", "f1", "n0"]);
    expect(document.activeElement).toBe(shape("f1"));
    expect(model.sent).toEqual([]);
  });

  it("selects with Space, as a click with Ctrl or Command does", () => {
    const { model, shape, one, frames } = mount();
    press(shape("f1"), " ");
    expect(model.state.selected).toBe("f1");
    expect(one(".gradviz-fold-tools").textContent).toBe("UnfoldShow only this");
    for (const key of ["ctrlKey", "metaKey"]) {
      model.set("selected", "");
      click(one('[data-id="f1"] > text'), { [key]: true });
      expect(model.state.selected).toBe("f1");
    }
    expect(frames()).toEqual([]);
  });

  it("unfolds with one click on any part of a box, and folds on the header", () => {
    const { frames, one, model } = mount();
    for (const part of [".gradviz-sign rect", "> text", "> .gv-card"]) {
      click(one(`[data-id="f1"] ${part}`));
      expect(frames()).toEqual(["f1"]);
      click(one('[data-id="f1"] > text'));
      expect(frames()).toEqual([]);
    }
    expect(model.state.selected).toBe("");
  });

  it("unfolds once with two clicks, wherever the second one lands", () => {
    const { frames, one } = mount();
    for (const part of [".gradviz-sign rect", "> text"]) {
      click(one(`[data-id="f1"] ${part}`));
      click(one(`[data-id="f1"] ${part}`), { detail: 2 });
      one('[data-id="f1"] > text').dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
      expect(frames()).toEqual(["f1"]);
      click(one('[data-id="f1"] > text'));
    }
    click(one('[data-id="f1"] > text'));
    click(one('[data-id="f2"] > text'), { detail: 2 });
    expect(frames()).toEqual(["f1"]);
  });

  it("selects a card in an open box with a click, and nothing in its empty room", () => {
    const { frames, one, model, shape } = mount();
    click(shape("f1"));
    click(shape("f2"));
    click(one('[data-id="n3"] > text'));
    expect(model.state.selected).toBe("n3");
    click(one('[data-id="f1"] > .gv-frame'));
    expect(model.state.selected).toBe("");
    expect(frames()).toEqual(["f1", "f2"]);
  });

  it("shows the details of the box that a click opens, where details are shown", () => {
    const { one, model } = mount({ selected: "n0" });
    const title = () => one(".gradviz-inspector-title").textContent;
    expect(title()).toBe("n0 label");
    click(one('[data-id="f1"] > text'));
    expect(model.state.selected).toBe("f1");
    expect(title()).toBe("f1 label");
    click(one('[data-id="f2"] > text'));
    expect(title()).toBe("f2 label");
    // What is folded again is still what the details are of.
    click(one('[data-id="f1"] > text'));
    expect(title()).toBe("f2 label");
  });

  it("folds what is around the focus with u, which goes to the box", () => {
    const { frames, shape } = mount();
    press(shape("f1"), "Enter");
    press(shape("f2"), "Enter");
    shape("n3").focus();
    press(shape("n3"), "u");
    expect(frames()).toEqual(["f1"]);
    expect(document.activeElement).toBe(shape("f2"));
    press(shape("f2"), "u");
    expect(frames()).toEqual([]);
  });

  it("goes with the arrow keys over the rims of boxes", () => {
    const { shape } = mount();
    shape("n0").focus();
    press(shape("n0"), "ArrowUp");
    expect(document.activeElement).toBe(shape("f1"));
    press(shape("f1"), "Enter");
    press(shape("f2"), "Enter");
    shape("n0").focus();
    press(shape("n0"), "ArrowUp");
    expect(document.activeElement).toBe(shape("f3"));
    press(shape("f3"), "ArrowUp");
    expect(document.activeElement).toBe(shape("n2"));
    press(shape("n2"), "ArrowUp");
    press(shape("n3"), "ArrowUp");
    expect(document.activeElement).toBe(shape("n9"));
  });

  it("opens what is around an item that is selected, wherever it is selected", () => {
    const { model, cards, marked, crumbs } = mount();
    model.set("selected", "n3");
    expect(cards()).toEqual(["n9", "n3", "n2", "f3", "n0"]);
    expect(marked("is-selected")).toEqual(["n3"]);
    expect(crumbs()).toEqual(["graph of loss", "model", "h.0", "n3 label"]);
  });

  it("opens what is around the node in focus without selecting it", () => {
    const { model, frames } = mount({ focus: "" });
    model.set("focus", "n2");
    expect(frames()).toEqual(["f1", "f2"]);
    expect(model.state.selected).toBe("");
  });

  it("shows on a closed box what is selected in it and the paths through it", () => {
    const { model, shape, marked, all } = mount();
    model.set("selected", "n3");
    press(shape("f1"), "Enter");
    expect(model.state.selected).toBe("n3");
    expect(marked("is-selected")).toEqual(["f1"]);
    expect(marked("is-on-path").sort()).toEqual(["f1", "n0", "n9"]);
    expect(all(".gradviz-viewport .gv-edge.is-on-path")).toHaveLength(2);
  });

  it("counts what is found in closed boxes, and opens what is around the next match", () => {
    const { all, one, cards, model, said } = mount();
    const input = one<HTMLInputElement>(".gradviz-find input");
    type(input, "deep");
    const counts = () => all(".gradviz-found").map(({ textContent }) => textContent);
    // Two nodes, one more; the two boxes around them are no nodes.
    expect(counts()).toEqual(["3 + 2 boxes found"]);
    expect(one(".gradviz-count").textContent).toBe("5 + 3 boxes");
    expect(said()).toBe("5 matches + 3 boxes");
    const way = [];
    for (let i = 0; i < 6; i += 1) {
      press(input, "Enter");
      way.push(`${model.state.selected} ${one(".gradviz-count").textContent}`);
    }
    expect(way).toEqual(["n0 1/5", "n1 2/5", "n2 3/5", "n3 4/5", "n9 5/5", "f1 box 1/3"]);
    expect(said()).toBe("box 1 of 3: f1 label");
    type(input, "n2");
    press(input, "Enter");
    expect(model.state.selected).toBe("n2");
    expect(cards()).toContain("n2");
    expect(counts()).toEqual([]);
    type(input, "f2");
    expect(one(".gradviz-count").textContent).toBe("1 box");
    expect(said()).toBe("1 box");
  });

  it("moves the focus from Find to the match, where keys act, and back with Esc", async () => {
    const { one, shape, model, frames, marked } = mount();
    const input = one<HTMLInputElement>(".gradviz-find input");
    input.focus();
    type(input, "n3");
    press(input, "Enter");
    await settled();
    expect(document.activeElement).toBe(shape("n3"));
    press(shape("n3"), "u");
    expect(frames()).toEqual(["f1"]);
    type(input, "deep");
    press(shape("f2"), "g");
    await settled();
    expect(model.state.selected).toBe("n9");
    press(shape("n9"), "G");
    await settled();
    expect(document.activeElement).toBe(shape("n3"));
    input.focus();
    expect(press(input, "Escape")).toBe(false);
    expect(document.activeElement).toBe(shape("n3"));
    expect(input.value).toBe("");
    expect(marked("is-match")).toEqual([]);
    input.focus();
    press(input, "Escape");
    expect(document.activeElement).toBe(shape("n3"));
  });

  it("keeps the focus in the details, which are made anew when something opens", async () => {
    const { one, all } = mount({ selected: "n3" });
    const words = () => document.activeElement?.textContent;
    all(".gradviz-fold-tools button")[0]?.focus();
    expect(words()).toBe("Show neighbours");
    one<HTMLButtonElement>(".gradviz-fold-tools button").click();
    one<HTMLButtonElement>('[aria-label="Fold all"]').click();
    expect(words()).toBe("Show neighbours");
    all(".gradviz-link")[0]?.focus();
    all(".gradviz-link")[0]?.click();
    expect(document.activeElement).toBe(one(".gradviz-inspector"));
  });

  it("explains in the legend the boxes that are drawn", () => {
    const { one, all, shape } = mount();
    const told = () => all(".gradviz-legend li").map((entry) => entry.textContent);
    one<HTMLButtonElement>('[id$="-tab-legend"]').click();
    const closed = "+ a box that stands for many nodes: a click unfolds it";
    expect(told()).toEqual([closed]);
    press(shape("f1"), "Enter");
    expect(told()).toEqual([closed, "− an unfolded box: a click on its header folds it"]);
    expect(all(".gradviz-legend .gv-fold-sign")).toHaveLength(2);
  });

  it("shows one module alone, and the crumbs lead back", () => {
    const { shape, cards, frames, crumbs, all } = mount();
    shape("f1").focus();
    press(shape("f1"), "m");
    expect(cards()).toEqual(["f2", "f3"]);
    expect(frames()).toEqual([]);
    expect(crumbs()).toEqual(["graph of loss", "model"]);
    expect(all(".gradviz-crumb")[1]?.getAttribute("aria-current")).toBe("true");
    all(".gradviz-crumb")[0]?.click();
    expect(cards()).toEqual(["n9", "f2", "f3", "n0"]);
  });

  it("leaves the module when something outside of it is selected", () => {
    const { shape, cards, model } = mount();
    press(shape("f1"), "m");
    model.set("selected", "n0");
    expect(cards()).toContain("n0");
  });

  it("marks only the paths between two items", () => {
    const { model, shape, marked, said } = mount();
    model.set("selected", "n3");
    press(shape("n2"), "Enter", { shiftKey: true });
    expect(said()).toBe("paths between n3 label and n2 label");
    expect(marked("is-on-path").sort()).toEqual(["f1", "f2", "n2", "n3"]);
    model.set("selected", "n9");
    click(shape("n0"), { shiftKey: true });
    expect(marked("is-on-path").sort()).toEqual(["f1", "f2", "f3", "n0", "n2", "n3", "n9"]);
    model.set("selected", "");
    expect(marked("is-on-path")).toEqual([]);
  });

  it("unfolds a node and all that it is joined to", () => {
    const { model, shape, frames } = mount({ selected: "n9" });
    press(shape("n9"), "n");
    expect(frames()).toEqual(["f1", "f2"]);
    expect(model.state.selected).toBe("n9");
  });

  it("unfolds in levels, and says what stays folded", () => {
    const { all, frames, cards, said, one } = mount();
    const levels = () =>
      all('[aria-label="Unfolded"] button').map(
        (button) => [button.textContent, button.getAttribute("aria-checked")] as const,
      );
    expect(levels()).toEqual([
      ["folded", "true"],
      ["depth 2", "false"],
      ["all 5", "false"],
    ]);
    all('[aria-label="Unfolded"] button')[1]?.click();
    expect(frames()).toEqual(["f1", "f2"]);
    expect(levels()[1]?.[1]).toBe("true");
    expect(said()).toBe(`unfolded: 3; 1 box stays folded: ${folding.limit}`);
    all('[aria-label="Unfolded"] button')[0]?.click();
    expect(frames()).toEqual([]);
    all('[aria-label="Unfolded"] button')[2]?.click();
    expect(frames()).toEqual(["f1", "f2"]);
    expect(said()).toBe(`unfolded: 3; 1 box stays folded: ${folding.limit}`);
    one('[aria-label="Fold all"]').click();
    expect(cards()).toEqual(["f0"]);
    all('[aria-label="Unfolded"] button')[0]?.click();
    expect(cards()).toEqual(["n9", "f1", "n0"]);
  });

  it("says why the level between is not offered where no module is deeper", () => {
    const folds = folding.folds.map((fold) =>
      fold.above ? { ...fold, kind: fold.id === "f1" ? "leaves" : fold.kind } : fold,
    );
    const wire = { ...foldedWire, fold: { ...folding, folds } };
    const { all, frames, said } = mount({ wire });
    const [, two, whole] = all('[aria-label="Unfolded"] button');
    expect(two?.getAttribute("aria-disabled")).toBe("true");
    two?.click();
    expect(frames()).toEqual([]);
    expect(said()).toBe("depth 2: No module and no repeat is in the boxes that this opens with");
    expect(whole?.hasAttribute("aria-disabled")).toBe(false);
  });

  it("says that a box needs a kernel where there is none", () => {
    const { shape, frames, said, all } = mount();
    press(shape("f1"), "Enter");
    expect(all('[data-id="f3"] .gradviz-state').map((one) => one.textContent)).toEqual([
      "needs a kernel",
    ]);
    press(shape("f3"), "Enter");
    expect(frames()).toEqual(["f1"]);
    expect(said()).toBe(folding.limit);
  });

  it("starts anew with another document", () => {
    const { model, shape, cards } = mount();
    press(shape("f1"), "Enter");
    model.set("wire", { ...foldedWire });
    expect(cards()).toEqual(["n9", "f1", "n0"]);
  });

  it("is not there where nothing is folded", () => {
    const { fold: _, ...plain } = foldedWire;
    const { one, all } = mount({ wire: plain });
    expect(one(".gradviz-crumbs").hidden).toBe(true);
    expect(all('[aria-label="Unfolded"] button')).toEqual([]);
  });

  it("refuses a document whose folds are damaged", () => {
    const { el } = mount({ wire: { ...foldedWire, fold: { ...folding, opened: 3 } } });
    expect(el.textContent).toContain('the field "fold" of this picture is damaged');
  });
});

describe("a folded graph with a kernel", () => {
  const withKernel = () => {
    const model = new WithKernel({ wire: foldedWire });
    return { ...mount({}, model), model };
  };

  it("asks for an inside that is not here, and shows the box as busy", async () => {
    const { model, shape, frames, cards } = withKernel();
    press(shape("f1"), "Enter");
    press(shape("f3"), "Enter");
    expect(model.asked.map(({ ask }) => ask)).toEqual([{ inside: ["f3"] }]);
    expect(shape("f3").getAttribute("aria-busy")).toBe("true");
    await model.answer(0, { insides: { normal: { f3: lateInside } } });
    expect(frames()).toEqual(["f1", "f3"]);
    expect(cards()).toContain("n1");
    expect(shape("f3").hasAttribute("aria-busy")).toBe(false);
    // It stays known.
    press(shape("f3"), "Enter");
    press(shape("f3"), "Enter");
    expect(model.asked).toHaveLength(1);
    expect(frames()).toEqual(["f1", "f3"]);
  });

  it("stops waiting at a second click", async () => {
    const { model, shape, frames, said } = withKernel();
    press(shape("f1"), "Enter");
    press(shape("f3"), "Enter");
    press(shape("f3"), "Enter");
    expect(shape("f3").hasAttribute("aria-busy")).toBe(false);
    expect(said()).toBe("h.1 · Block: no longer waited for");
    await model.answer(0, { insides: { normal: { f3: lateInside } } });
    expect(frames()).toEqual(["f1"]);
  });

  it("says what the kernel says where it fails, and what it sent where that is damaged", async () => {
    const { model, shape, said } = withKernel();
    press(shape("f1"), "Enter");
    press(shape("f3"), "Enter");
    await model.answer(0, {}, "the graph is gone");
    expect(said()).toBe("the graph is gone");
    press(shape("f3"), "Enter");
    await model.answer(1, { insides: { normal: { f3: { width: "wide" } } } });
    expect(said()).toBe("what the kernel sent is damaged: run the cell again");
    expect(shape("f3").hasAttribute("aria-busy")).toBe(false);
  });

  it("shows what is selected in a fold once its inside is there", async () => {
    const { model, cards, marked } = withKernel();
    model.set("selected", "n1");
    expect(model.asked.map(({ ask }) => ask)).toEqual([{ inside: ["f3"] }]);
    await model.answer(0, { insides: { normal: { f3: lateInside } } });
    expect(cards()).toContain("n1");
    expect(marked("is-selected")).toEqual(["n1"]);
  });

  it("lets the kernel find what is not listed", async () => {
    const few = items.filter(({ id }) => id !== "n1");
    const model = new WithKernel({ wire: { ...foldedWire, items: few } });
    const { one } = mount({}, model);
    const input = one<HTMLInputElement>(".gradviz-find input");
    type(input, "n1 ");
    press(input, "Enter");
    expect(model.asked.map(({ ask }) => ask)).toEqual([{ find: "n1" }]);
    const found = items.filter(({ id }) => id === "n1");
    await model.answer(0, { find: "n1", items: found, folds: [] });
    expect(model.state.selected).toBe("n1");
    expect(model.asked[1]?.ask).toEqual({ inside: ["f3"] });
  });

  it.each([
    ["Enter comes before the pause after typing", 10],
    ["Enter comes after it", 1000],
  ])("asks once what the kernel finds, and waits for that answer: %s", async (_, pause) => {
    vi.useFakeTimers();
    const few = items.filter(({ id }) => id !== "n1");
    const model = new WithKernel({ wire: { ...foldedWire, items: few } });
    const { one, said } = mount({}, model);
    const input = one<HTMLInputElement>(".gradviz-find input");
    type(input, "n1");
    await vi.advanceTimersByTimeAsync(pause);
    press(input, "Enter");
    await vi.advanceTimersByTimeAsync(2000);
    expect(said()).not.toContain("no match");
    vi.useRealTimers();
    expect(model.asked.map(({ ask }) => ask)).toEqual([{ find: "n1" }]);
    const found = items.filter(({ id }) => id === "n1");
    await model.answer(0, { find: "n1", items: found, folds: [] });
    expect(model.state.selected).toBe("n1");
  });

  it("does not say that nothing matches where the kernel says why it cannot look", async () => {
    const few = items.filter(({ id }) => id !== "n1");
    const model = new WithKernel({ wire: { ...foldedWire, items: few } });
    const { one, said } = mount({}, model);
    const input = one<HTMLInputElement>(".gradviz-find input");
    type(input, "n1");
    press(input, "Enter");
    await model.answer(0, {}, "the graph is gone");
    expect(said()).toBe("the graph is gone");
  });

  it("says above the picture that no answer comes, and what the kernel says", async () => {
    vi.useFakeTimers();
    const { model, shape, one } = withKernel();
    const note = () => one(".gradviz-fold-note").textContent;
    press(shape("f1"), "Enter");
    press(shape("f3"), "Enter");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(note()).toContain("No answer yet: the kernel is busy");
    vi.useRealTimers();
    await model.answer(0, {}, "the graph is gone");
    expect(note()).toContain("the graph is gone");
    press(shape("f1"), "Enter");
    expect(note()).not.toContain("gone");
  });

  it("unfolds all with one question, and at another level waits no longer", async () => {
    const { model, all, frames, shape, said } = withKernel();
    const level = (at: number) => all('[aria-label="Unfolded"] button')[at];
    level(2)?.click();
    expect(model.asked.map(({ ask }) => ask)).toEqual([{ inside: ["f3"] }]);
    level(0)?.click();
    await model.answer(0, { insides: { normal: { f3: lateInside } } });
    expect(frames()).toEqual([]);
    level(2)?.click();
    level(2)?.click();
    expect(said()).toBe("no longer waited for");
    level(2)?.click();
    // The kernel still works on what is not waited for any more; then it is asked again.
    expect(model.asked).toHaveLength(2);
    await model.answer(1, { insides: {} });
    expect(frames()).toEqual([]);
    await model.answer(2, { insides: { normal: { f3: lateInside } } });
    expect(frames()).toEqual(["f1", "f2", "f3"]);
    expect(shape("f3").hasAttribute("aria-busy")).toBe(false);
  });

  it("counts what the kernel finds beside what it sends", async () => {
    const model = new WithKernel({ wire: foldedWire });
    const { one } = mount({}, model);
    const input = one<HTMLInputElement>(".gradviz-find input");
    const few = items.filter(({ id }) => id !== "n1");
    model.set("wire", { ...foldedWire, items: few });
    type(input, "n1");
    press(input, "Enter");
    const found = items.filter(({ id }) => id === "n1");
    await model.answer(0, { find: "n1", more: 41, items: found, folds: [] });
    expect(one(".gradviz-count").textContent).toMatch(/of 4\d$/);
  });

  it("has links in the details that select what an item is joined to", () => {
    const { model, all } = withKernel();
    model.set("selected", "n1");
    const { next, prev } = items.find(({ id }) => id === "n1") ?? { next: [], prev: [] };
    const links = all(".gradviz-inspector .gradviz-link");
    expect(links).toHaveLength(next.length + prev.length);
    links[0]?.click();
    expect(model.state.selected).toBe([...next, ...prev][0]);
  });
});
