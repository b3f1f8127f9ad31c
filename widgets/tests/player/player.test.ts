import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { StepPicture, StepView } from "../../src/documents/recording";
import widget from "../../src/index";
import { tokensOf } from "../../src/lib/python_tokens";
import { size } from "../../src/player/memory";
import { FakeModel, wire as graph } from "../support/model";
import { inAll, recording, VIEWS } from "../support/recording";

let still = false;
beforeEach(() => {
  still = false;
  vi.stubGlobal("CSS", { escape: (text: string) => text.replace(/[^\w-]/g, "\\$&") });
  vi.stubGlobal("matchMedia", (query: string) => ({
    get matches() {
      return query.includes("reduced-motion") && still;
    },
    addEventListener: () => {},
  }));
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  document.body.replaceChildren();
});

const mount = (state = {}) => {
  const model = new FakeModel({ wire: recording, ...state });
  const el = document.body.appendChild(document.createElement("div"));
  const end = widget.render({ model, el });
  const one = <T extends Element = HTMLElement>(selector: string) =>
    el.querySelector<T>(selector) as T;
  const all = (selector: string) => [...el.querySelectorAll<HTMLElement>(selector)];
  const button = (label: string) => one<HTMLButtonElement>(`button[aria-label="${label}"]`);
  const where = () =>
    one("input[type=range]").getAttribute("aria-valuetext")?.replaceAll(", ", " ");
  const said = () => one("[role=status]").textContent;
  const open = (panel: string) => one(`[id$="-tab-${panel}"]`).click();
  return { model, el, end, one, all, button, where, said, open };
};
type Mounted = ReturnType<typeof mount>;
const press = (target: Element, key: string) =>
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const hover = (target: Element) =>
  target.dispatchEvent(new MouseEvent("pointerover", { bubbles: true }));
const lit = ({ all }: Mounted) =>
  all(".is-lit").map(({ dataset }) => dataset.id ?? dataset.line ?? dataset.row ?? dataset.word);

/** An element as data, without the prefix of its view and where its window happens to look. */
const plain = (element: Element): unknown => [
  element.tagName,
  [...element.attributes]
    .map(({ name, value }) => `${name}=${value.replace(/^gradviz-\w+-/, "")}`)
    .filter((attribute) => !/^(class=|style=transform.*)$/.test(attribute))
    .sort(),
  element.children.length ? [...element.children].map(plain) : element.textContent,
];

describe("stepping", () => {
  it("opens at the recording's own step when Python says nothing", () => {
    const model = new FakeModel();
    model.state.wire = { ...recording, open: 3 };
    for (const trait of ["step", "detail", "speed"]) delete model.state[trait];
    const el = document.body.appendChild(document.createElement("div"));
    widget.render({ model, el });
    expect(el.querySelector(".gradviz-where")?.textContent).toBe("step 3 of 8");
  });

  it("goes forward and back by buttons and tells the kernel the recording's own number", () => {
    const { model, button, where } = mount({ step: 4 });
    button("Forward").click();
    expect(model.sent).toEqual([{ step: 5 }]);
    expect(where()).toBe("step 5 of 8 backward MulBackward0");
    button("Back").click();
    button("Back").click();
    expect(model.state.step).toBe(3);
    button("Last step").click();
    expect(model.state.step).toBe(8);
    button("First step").click();
    expect(model.state.step).toBe(0);
  });

  it("says at the ends that there is nothing further, and keeps the focus", () => {
    const { button } = mount({ step: 1 });
    button("Back").focus();
    button("Back").click();
    button("Back").click();
    expect(button("Back").getAttribute("aria-disabled")).toBe("true");
    expect(button("Forward").getAttribute("aria-disabled")).toBe("false");
    expect(document.activeElement).toBe(button("Back"));
  });

  it("shows the same from the first to the last step and back, in every part", () => {
    const { el, button, one } = mount({ step: 0, detail: true });
    one(".gradviz-percent").remove();
    const before = plain(el);
    for (let i = 1; i < VIEWS.length; i += 1) button("Forward").click();
    expect(one(".gradviz-where").textContent).toContain("step 8 of 8");
    expect(plain(el)).not.toEqual(before);
    for (let i = 1; i < VIEWS.length; i += 1) button("Back").click();
    one("[role=status]").textContent = "";
    expect(plain(el)).toEqual(before);
  });

  it("shows the same however a step is reached", () => {
    const shown = ({ one }: Mounted) => one(".gradviz-viewport > svg");
    const straight = mount({ step: 5 });
    const round = mount({ step: 8 });
    for (const step of [0, "6.1", 3, 5]) round.model.set("step", step);
    expect(plain(shown(round))).toEqual(plain(shown(straight)));
  });

  it("changes what an element says and leaves the element where it is", () => {
    const { model, one } = mount({ step: 3 });
    const card = one<SVGGElement>("[data-id=n0]");
    card.focus();
    model.set("step", 5);
    expect(one("[data-id=n0]")).toBe(card);
    expect(card.textContent).toContain("freed");
    expect(card.classList).toContain("gv-freed");
    expect(document.activeElement).toBe(card);
  });

  it("moves the focus on when a card is no more", () => {
    const { model, one } = mount({ step: 7 });
    one<SVGGElement>("[data-id=n0]").focus();
    model.set("step", 8);
    expect((document.activeElement as SVGGElement).dataset.id).toBe("n1");
    expect(one("[id$='gv-n0']").hasAttribute("tabindex")).toBe(false);
  });

  it("keeps a selection through steps at which the thing is not there", () => {
    const { model, one } = mount({ step: 3, selected: "n0" });
    expect(one(".gradviz-inspector").textContent).toContain("holds a @v0");
    model.set("step", 8);
    expect(one(".gradviz-inspector-title").textContent).toBe("MulBackward0");
    expect(one(".gradviz-inspector").textContent).toContain("Does not exist at this step");
    model.set("step", 5);
    expect(one(".gradviz-inspector").textContent).toContain("freed");
    expect(one("[data-id=n0]").classList).toContain("is-selected");
  });

  it("says one sentence per step, politely, and nothing when it opens", () => {
    const { model, said } = mount({ step: 3 });
    expect(said()).toBe("");
    model.set("step", 5);
    expect(said()).toBe("step 5 of 8: MulBackward0 sent 3 to a.");
  });
});

describe("sub-steps", () => {
  it("are shown by a toggle, and hiding them goes to the step they are part of", () => {
    const { model, button, where } = mount({ step: 5 });
    button("Sub-steps").click();
    expect(where()).toBe("step 5 of 8 backward MulBackward0");
    button("Back").click();
    expect(where()).toBe("step 5.2 of 8 backward MulBackward0 saved tensors freed");
    expect(model.state.step).toBe("5.2");
    button("Sub-steps").click();
    expect(model.state.step).toBe(5);
    expect(where()).toBe("step 5 of 8 backward MulBackward0");
  });

  it("have no toggle where there are none", () => {
    const views = VIEWS.filter(({ number }) => number.length === 1);
    const { button } = mount({ wire: { ...recording, views } });
    expect(button("Sub-steps").hidden).toBe(true);
  });

  it("a hidden one set by Python is shown, as long as it or one beside it is", () => {
    const { where, button } = mount({ step: "5.1" });
    expect(where()).toBe("step 5.1 of 8 backward MulBackward0 saved tensors read");
    button("Forward").click();
    expect(where()).toBe("step 5.2 of 8 backward MulBackward0 saved tensors freed");
    button("Forward").click();
    button("Back").click();
    expect(where()).toBe("step 4 of 8 backward");
  });

  it("of one step are opened in its place, and put away again", () => {
    const { model, one, button, where } = mount({ step: 5 });
    const slider = one<HTMLInputElement>("input[type=range]");
    const inside = one(".gradviz-inside button");
    expect(inside.textContent).toBe("2 steps inside");
    inside.focus();
    inside.click();
    expect(where()).toBe("step 5.1 of 8 backward MulBackward0 saved tensors read");
    expect([slider.max, slider.value]).toEqual(["10", "5"]);
    expect(document.activeElement).toBe(button("Step out"));
    button("Forward").click();
    button("Forward").click();
    expect(where()).toBe("step 5 of 8 backward MulBackward0");
    expect(inside.hidden).toBe(true);
    button("Forward").click();
    expect(where()).toBe("step 6 of 8 backward a");
    expect(inside.textContent).toBe("1 step inside");
    for (let i = 0; i < 2; i += 1) button("Back").click();
    expect(model.state.step).toBe("5.2");
    button("Step out").click();
    expect(where()).toBe("step 5 of 8 backward MulBackward0");
    expect([slider.max, slider.value]).toEqual(["8", "5"]);
    expect(button("Step out").hidden).toBe(true);
  });

  it("are stepped into and out of by keys, from the step before too", () => {
    const { one, model } = mount({ step: 4 });
    const said = () => one("[role=status]").textContent;
    press(one(".gradviz-viewport svg"), ">");
    expect(model.state.step).toBe("5.1");
    press(one(".gradviz-player button"), "<");
    expect(model.state.step).toBe(5);
    press(one(".gradviz-player button"), "<");
    expect(said()).toBe("this step is inside no other that was opened");
    model.set("step", 7);
    press(one(".gradviz-player button"), ">");
    expect(model.state.step).toBe(7);
    expect(said()).toBe("nothing is inside this step or the next");
  });
});

describe("the parts of a long backward", () => {
  const run = (label: string, first: number, last: number, nodes: number, open = false) => ({
    ...{
      label,
      caption: { words: [`backward ran ${label}: ${nodes} nodes`] },
      first,
      last,
      nodes,
      open,
    },
  });
  const whole = run("model", 5, 10, 3, true);
  const part = run("h.0 · Block", 8, 10, 2);
  const parts = (...runs: (typeof whole)[]) => mount({ wire: { ...recording, runs }, step: 4 });

  it("are one step each, which says what all of its nodes did", () => {
    const { one, button, where, model } = parts(whole, part);
    button("Forward").click();
    expect(where()).toBe("step 5 of 8 backward MulBackward0");
    button("Forward").click();
    expect(where()).toBe("step 7 of 8 backward h.0 · Block");
    expect(one(".gradviz-sentence").textContent).toBe("backward ran h.0 · Block: 2 nodes");
    expect(one(".gradviz-inside").textContent).toContain("2 steps inside");
    button("Forward").click();
    expect(model.state.step).toBe(8);
    button("Back").click();
    button("Back").click();
    expect(model.state.step).toBe(5);
  });

  it("are opened on demand and put away again", () => {
    const { button, one, where, model } = parts(whole, part);
    model.set("step", 7);
    one(".gradviz-inside button").click();
    expect(where()).toBe("step 6 of 8 backward a");
    button("Forward").click();
    expect(where()).toBe("step 7 of 8 backward b");
    button("Step out").click();
    expect(where()).toBe("step 7 of 8 backward h.0 · Block");
    button("Step out").click();
    expect(where()).toBe("step 7 of 8 backward model");
    expect(button("Step out").hidden).toBe(true);
    button("Back").click();
    expect(model.state.step).toBe(4);
  });

  it("are open around a step that Python sets, and all are with their sub-steps", () => {
    const { where, model } = parts({ ...whole, open: false }, part);
    model.set("step", 6);
    expect(where()).toBe("step 6 of 8 backward a");
    model.set("step", 5);
    expect(where()).toBe("step 5 of 8 backward MulBackward0");
    model.set("step", 7);
    expect(where()).toBe("step 7 of 8 backward model");
    model.set("detail", true);
    expect(where()).toBe("step 7 of 8 backward b");
  });
});

describe("the slider", () => {
  it("counts visible steps and says where it is", () => {
    const { one, model } = mount({ step: 5 });
    const slider = one<HTMLInputElement>("input[type=range]");
    expect([slider.min, slider.max, slider.value]).toEqual(["0", "8", "5"]);
    expect(slider.getAttribute("aria-valuetext")).toBe("step 5 of 8, backward, MulBackward0");
    slider.value = "3";
    slider.dispatchEvent(new Event("input"));
    expect(model.state.step).toBe(3);
  });

  it("has a tick of its own shape for each kind of event, at the step that shows it", () => {
    const marks = { 3: ["culprit"], 8: ["warning"], 9: ["look"] } as Record<number, string[]>;
    const views = VIEWS.map((view, i) => (marks[i] ? { ...view, ticks: marks[i] } : view));
    const { all, open } = mount({ wire: { ...recording, views }, step: 0 });
    open("legend");
    const ticks = all(".gradviz-ticks .gradviz-tick").map((tick) => [
      tick.className.replace("gradviz-tick is-", ""),
      tick.style.getPropertyValue("--at"),
    ]);
    expect(ticks).toEqual([
      ["culprit", "0.375"],
      ["warning", "0.75"],
    ]);
    const shapes = all(".gradviz-legend .gradviz-tick path").map((path) => path.getAttribute("d"));
    expect(new Set(shapes).size).toBe(4); // the author's stop, too
  });

  it("has the ticks in the line of all steps, those of a kind at one place once", () => {
    const marks = (times: number) => {
      const ticked = VIEWS.map((view, i) => (i === 3 ? { ...view, ticks: ["culprit"] } : view));
      const views = Array.from({ length: times }, () => ticked).flat();
      const { all } = mount({ wire: { ...recording, views }, step: 0 });
      return all(".gradviz-overview span").map((mark) => mark.className.split("is-")[1]);
    };
    expect(marks(2)).toEqual(["culprit", "culprit"]);
    const many = marks(400);
    expect(new Set(many)).toEqual(new Set(["culprit"]));
    expect(many.length).toBeGreaterThan(190);
    expect(many.length).toBeLessThan(210);
  });

  it("has the parts of training above it in words, which lead to their first steps", () => {
    const { all, model } = mount({ step: 5 });
    const parts = () => all(".gradviz-phases > div");
    expect(parts().map((part) => part.textContent)).toEqual(["forward", "backward", "forward"]);
    expect(parts().map((part) => part.style.left)).toEqual(["0%", "43.75%", "93.75%"]);
    expect(parts().map((part) => part.className)).toEqual(["", "is-current", ""]);
    parts()[2]?.click();
    expect(model.state.step).toBe(8);
    expect(parts().map((part) => part.className)).toEqual(["", "", "is-current"]);
  });

  it("keeps the current step in the middle of what is seen of it, but not while it is dragged", () => {
    const { one, model } = mount({ step: 3 });
    const middle = () => Number(one(".gradviz-around").style.getPropertyValue("--middle"));
    expect(middle()).toBe(3 / 8);
    const slider = one<HTMLInputElement>("input[type=range]");
    Object.defineProperty(one(".gradviz-around"), "clientWidth", { value: 96 });
    slider.dispatchEvent(new Event("pointerdown"));
    for (const [value, seen] of [
      [5, 3],
      [7, 3],
      [8, 4],
      [2, 4],
    ]) {
      slider.value = String(value);
      slider.dispatchEvent(new Event("input"));
      expect(middle()).toBe((seen ?? 0) / 8);
    }
    slider.dispatchEvent(new Event("pointerup"));
    expect(middle()).toBe(2 / 8);
    model.set("step", 6);
    expect(middle()).toBe(6 / 8);
  });

  it("has a bar per step for what saved tensors keep, and the words beside it", () => {
    const { all, one, model } = mount({ step: 3 });
    expect(all(".gradviz-strip line:not(.is-guide)")).toHaveLength(9);
    expect(one(".gradviz-memory").textContent).toBe(
      "saved tensors keep 8 B at most 8 B all tensors 12 B ",
    );
    model.set("step", 5);
    expect(one(".gradviz-strip").getAttribute("aria-label")).toContain("keep 0 B");
  });

  it("has a bracket per turn of a loop, of two levels, and the words of all of them", () => {
    const turn = { code: 0, line: 1, number: 1, count: 2, level: 0, first: 1, last: 3, times: 1 };
    const turns = [
      turn,
      { ...turn, line: 2, number: 1, count: 1, level: 1, first: 2, last: 3 },
      { ...turn, line: 3, number: 3, count: 3, level: 2, first: 3, last: 3 },
      { ...turn, number: 2, first: 4, last: 11 },
    ];
    const { all, one, model, where } = mount({ wire: { ...recording, turns }, step: 3 });
    const spans = () =>
      all(".gradviz-turns g").map((bracket) => [
        bracket.classList.contains("is-current"),
        bracket.children[1]?.getAttribute("x1"),
        bracket.children[1]?.getAttribute("x2"),
      ]);
    expect(spans()).toEqual([
      [true, "8.125%", "41.875%"],
      [false, "45.625%", "100%"],
      [true, "20.625%", "41.875%"],
    ]);
    expect(where()).toBe("step 3 of 8 line 3 turn 1 of 2 › turn 1 of 1 › turn 3 of 3");
    expect(one("input[type=range]").getAttribute("aria-valuetext")).toContain("turn 3 of 3");
    model.set("step", 6);
    expect(spans().map(([current]) => current)).toEqual([false, true, false]);
    expect(where()).toContain("turn 2 of 2");
  });

  it("has one bracket for turns that are counted, with their number", () => {
    const turn = { code: 0, line: 1, number: 1, count: 972, level: 0, first: 1, last: 3, times: 1 };
    const turns = [
      turn,
      { ...turn, number: 2, first: 4, last: 5, times: 970 },
      { ...turn, number: 972, first: 6, last: 11 },
    ];
    const { all, model, where } = mount({ wire: { ...recording, turns }, step: 3 });
    expect(all(".gradviz-turns .is-counted text").map((text) => text.textContent)).toEqual([
      "×970",
    ]);
    expect(all(".gradviz-turns g")).toHaveLength(3);
    model.set("step", 4);
    expect(where()).toContain("turns 2 to 971 of 972");
  });

  it.each([
    [0, "0 B"],
    [9999, "9999 B"],
    [50_000, "48.8 KiB"],
    [3 * 1024 ** 2, "3.0 MiB"],
    [5 * 1024 ** 3, "5.0 GiB"],
  ])("writes sizes as Python does: %d is %s", (bytes, text) => {
    expect(size(bytes)).toBe(text);
  });
});

describe("keys", () => {
  it.each([
    [".gradviz-player button[aria-label=Forward]", "ArrowRight", 4],
    [".gradviz-player button[aria-label=Forward]", "ArrowLeft", 2],
    ["input[type=range]", "ArrowRight", 4],
    ["input[type=range]", "ArrowDown", 2],
    ["input[type=range]", "PageUp", 5],
    [".gradviz-code button", "ArrowRight", 4],
    [".gradviz-code button", "End", 8],
    [".gradviz-word", "Home", 0],
    ["[data-id=n0]", "]", 4],
    ["[data-id=n0]", "[", 2],
    ["[data-id=n0]", ".", 4],
    [".gradviz-outline button", ",", 2],
    [".gradviz-tensors button", "ArrowLeft", 2],
  ])("%s %s goes to step %d", (selector, key, step) => {
    const { one, model, open } = mount({ step: 3 });
    open(selector.includes("outline") ? "outline" : "tensors");
    const outside = vi.fn();
    document.body.addEventListener("keydown", outside);
    press(one(selector), key);
    expect(model.state.step).toBe(step);
    expect(outside).not.toHaveBeenCalled();
    document.body.removeEventListener("keydown", outside);
  });

  it.each([
    [".gradviz-find input", "["],
    ["select", "ArrowRight"],
    ["[data-id=n0]", "ArrowRight"],
    [".gradviz-inspector", "ArrowRight"],
  ])("%s keeps %s for itself", (selector, key) => {
    const { one, model } = mount({ step: 3 });
    press(one(selector), key);
    expect(model.state.step).toBe(3);
  });

  it("step nothing on a graph that is no recording", () => {
    const { one, model } = mount({ wire: graph });
    press(one("[data-id=n0]"), "]");
    expect(model.sent).toEqual([]);
    press(one("[data-id=n0]"), "?");
    expect(one(".gradviz-help").textContent).not.toContain("step");
  });

  it("are listed for steps too", () => {
    const { one } = mount();
    press(one("[data-id=n1], .gradviz-word, button"), "?");
    expect(one(".gradviz-help").textContent).toContain("[ ] or , .");
  });

  it("keeps JupyterLab's shortcuts off everything that takes focus", () => {
    const { el } = mount({ step: 3 });
    for (const stop of el.querySelectorAll("button, input, select, summary, [tabindex]")) {
      expect(stop.getAttribute("data-lm-suppress-shortcuts"), stop.outerHTML).toBe("true");
    }
  });

  it("up and down walk the lines of code, which are one tab stop", () => {
    const { all, one } = mount({ step: 3 });
    const stop = one('.gradviz-code [tabindex="0"]');
    expect(stop.dataset.line).toBe("line:0:3");
    stop.focus();
    press(stop, "ArrowUp");
    expect((document.activeElement as HTMLElement).dataset.line).toBe("line:0:2");
    expect(all('.gradviz-code [tabindex="0"]')).toHaveLength(1);
  });
});

describe("the code", () => {
  it("says beside the lines which has run and which is next", () => {
    const { one, model } = mount({ step: 2 });
    const line = (n: number) => one(`[data-line="line:0:${n}"]`);
    expect(line(2).querySelector(".gradviz-chip")?.textContent).toBe("just ran");
    expect(line(2).getAttribute("aria-current")).toBe("step");
    expect(line(3).querySelector(".gradviz-chip")?.textContent).toBe("next");
    model.set("step", 5);
    expect(line(4).querySelector(".gradviz-chip")?.textContent).toBe("running");
    expect(line(2).hasAttribute("aria-current")).toBe(false);
  });

  it("leads to the step at which a line has run", () => {
    const { one, model } = mount({ step: 0 });
    one('[data-line="line:0:4"]').click();
    expect(model.state.step).toBe(8);
  });

  it("goes from one run of a line to the next, and round", () => {
    const again = VIEWS.filter(({ number }) => number.length === 1).slice(1);
    const moved = again.map((view) => ({ ...view, number: [(view.number[0] ?? 0) + 8] }));
    const views = [...VIEWS, ...moved];
    const { one, model } = mount({ wire: { ...recording, views }, step: 0 });
    const visited = [0, 1, 2].map(() => {
      one('[data-line="line:0:2"]').click();
      return model.state.step;
    });
    expect(visited).toEqual([2, 10, 2]);
  });

  it.each([
    'x = f"a {b}" + \'c\' * 2.5e3  # a "comment"',
    "for i in range(3): print(i)",
    "",
    'broken = "never closed',
    "    lambda: None",
  ])("is the source and nothing else: %s", (line) => {
    const tokens = tokensOf(line);
    expect(tokens.map(({ text }) => text).join("")).toBe(line);
  });

  it("tells kinds of words apart", () => {
    const kinds = tokensOf("for i in f(2, 'in'):  # in").filter(({ kind }) => kind);
    expect(kinds.map(({ kind, text }) => [kind, text])).toEqual([
      ["keyword", "for"],
      ["keyword", "in"],
      ["string", "'in'"],
      ["comment", "# in"],
    ]);
  });
});

describe("brushing", () => {
  it.each([
    ['[data-line="line:0:3"]', ["line:0:3", "n0", "n0", "t2"]],
    [".gradviz-viewport [data-id=n1]", ["line:0:1", "n1", "t0", "t0"]],
    ['.gradviz-word[data-word="t0"]', ["line:0:1", "n1", "t0", "t0"]],
  ])("%s lights the same everywhere", (selector, ids) => {
    const mounted = mount({ step: 3 });
    mounted.open("tensors");
    hover(mounted.one(selector));
    expect(lit(mounted).sort()).toEqual(ids);
  });

  it("works from a row of the tensors by focus", () => {
    const mounted = mount({ step: 3 });
    mounted.open("tensors");
    const row = mounted.one(".gradviz-tensors tr[data-row=t1]");
    row.dispatchEvent(new MouseEvent("pointerenter"));
    expect(lit(mounted).sort()).toEqual(["line:0:2", "n2", "t1"]);
    row.dispatchEvent(new MouseEvent("pointerleave"));
    expect(lit(mounted)).toEqual([]);
  });

  it("a word selects what it speaks of, a line in it leads there", () => {
    const { one, model } = mount({ step: 3 });
    one('.gradviz-word[data-word="n0"]').click();
    expect(model.state.selected).toBe("n0");
    one('.gradviz-word[data-word="t0"]').click();
    expect(model.state.selected).toBe("n1");
    model.set("step", 8);
    one('.gradviz-word[data-word="line:0:4"]').click();
    expect(model.state.step).toBe(8);
  });

  it("the focus stays with the same word through a step", () => {
    const { one, model } = mount({ step: "5.1", detail: true });
    one('.gradviz-word[data-word="n0"]').focus();
    model.set("step", "5.2");
    expect(document.activeElement).toBe(one('.gradviz-word[data-word="n0"]'));
    model.set("step", 0);
    expect(document.activeElement).toBe(one(".gradviz-caption"));
  });
});

describe("the tensors", () => {
  it("are a table with what is new marked in words", () => {
    const { all, one, model, open } = mount({ step: 2 });
    open("tensors");
    const cells = (id: string) =>
      all(`.gradviz-tensors [data-row=${id}] > *`).map((cell) => cell.textContent);
    expect(cells("t1")).toEqual(["bnew", "True", "True", "False", "0", "None"]);
    expect(cells("t0")).toEqual(["a", "True", "True", "False", "0", "None"]);
    model.set("step", 6);
    expect(cells("t0").at(-1)).toBe("3was None");
    expect(all(".gradviz-tensors .is-changed")).toHaveLength(1);
    model.set("step", 7);
    expect(cells("t0").at(-1)).toBe("3");
    expect(one(".gradviz-tensors caption").textContent).toBe("Tensors at step 7 of 8");
  });

  it("mark a change at the sub-step that made it when sub-steps are shown", () => {
    const { all, open } = mount({ step: 6, detail: true });
    open("tensors");
    expect(all(".gradviz-tensors .is-changed")).toHaveLength(0);
  });

  it("select a leaf's node, for Python knows the card by that", () => {
    const { model, one, open } = mount({ step: 3 });
    open("tensors");
    one(".gradviz-tensors [data-row=t1] button").click();
    expect(model.state.selected).toBe("n2");
    expect(one(".gradviz-tensors tr.is-selected").dataset.row).toBe("t1");
    one(".gradviz-tensors [data-row=t2] button").click();
    expect(model.state.selected).toBe("");
  });

  it("keep the focus on a row through a step", () => {
    const { one, model, open } = mount({ step: 3 });
    open("tensors");
    one(".gradviz-tensors [data-row=t0] button").focus();
    model.set("step", 6);
    expect((document.activeElement as HTMLElement).dataset.row).toBe("t0");
  });
});

describe("the outline", () => {
  it("is that of the step", () => {
    const { all, model, open } = mount({ step: 1 });
    open("outline");
    const names = () => all(".gradviz-outline tbody button").map((row) => row.textContent);
    expect(names()).toEqual(["n1"]);
    model.set("step", 3);
    expect(names()).toEqual(["n0", "n1", "n2"]);
  });
});

describe("an error", () => {
  const raised = { ...(VIEWS[11] as StepView), number: [5], kind: "error", tick: "error", at: {} };
  const views = [...VIEWS.slice(0, 5), raised];

  it("is one button away", () => {
    const { button, model, one } = mount({ wire: { ...recording, views }, step: 0 });
    button("Jump to error").click();
    expect(model.state.step).toBe(5);
    expect(one("input[type=range]").getAttribute("aria-valuetext")).toContain("line 4, error");
    expect(one('[data-line="line:0:4"] .gradviz-chip').textContent).toBe("raised");
    expect(one(".gradviz-jump").hidden).toBe(true);
  });

  it("has no button where none was raised", () => {
    expect(mount().one(".gradviz-jump").hidden).toBe(true);
  });
});

describe("playing", () => {
  it("is off at first, goes a step a second, and ends at the last", () => {
    vi.useFakeTimers();
    const { button, model, said } = mount({ step: 5, speed: 2 });
    vi.advanceTimersByTime(5000);
    expect(model.state.step).toBe(5);
    button("Play").click();
    vi.advanceTimersByTime(500);
    expect(model.state.step).toBe(6);
    vi.advanceTimersByTime(5000);
    expect(model.state.step).toBe(8);
    expect(button("Play")).not.toBeNull();
    expect(said()).toBe("step 8 of 8: line 4 has run; out is gone.");
  });

  it("stops when somebody steps, and begins again after the end", () => {
    vi.useFakeTimers();
    const { button, model } = mount({ step: 8 });
    button("Play").click();
    expect(model.state.step).toBe(0);
    vi.advanceTimersByTime(1000);
    button("Forward").click();
    vi.advanceTimersByTime(5000);
    expect(model.state.step).toBe(2);
  });

  it("never starts where the system asks for no motion, and says why", () => {
    vi.useFakeTimers();
    still = true;
    const { button, model, one, said } = mount({ step: 1 });
    expect(button("Play").getAttribute("aria-disabled")).toBe("true");
    button("Play").click();
    vi.advanceTimersByTime(5000);
    expect(model.state.step).toBe(1);
    expect(said()).toContain("reduced motion");
    expect(one(".gradviz-tooltip").textContent).toContain("reduced motion");
    press(one("input[type=range]"), " ");
    expect(model.state.step).toBe(2);
  });

  it("leaves no timer behind when the view goes away", () => {
    vi.useFakeTimers();
    const { button, end, model } = mount({ step: 0 });
    button("Play").click();
    end();
    vi.advanceTimersByTime(5000);
    expect(model.state.step).toBe(0);
    expect(model.listenerCount).toBe(0);
  });
});

describe("one widget", () => {
  it("shows a graph after a recording and a recording after a graph", () => {
    const { model, one } = mount({ wire: graph });
    expect(one(".gradviz-player").hidden).toBe(true);
    model.set("wire", recording);
    expect(one(".gradviz-player").hidden).toBe(false);
    expect(one(".gradviz-root").classList).toContain("has-steps");
    model.set("step", 5);
    model.set("wire", graph);
    expect(one(".gradviz-player").hidden).toBe(true);
    press(one(".gradviz-bar button"), "i");
    expect(one(".gradviz-inspector").textContent).toContain("5 nodes, 2 leaves");
    expect(one(".gradviz-root").classList).not.toContain("has-steps");
  });

  it("takes another recording that has fewer steps", () => {
    const { model, one } = mount({ step: 8 });
    model.set("wire", { ...recording, views: VIEWS.slice(0, 3) });
    expect(one(".gradviz-where").textContent).toBe("step 2 of 2");
  });

  it("shows hostile words as words", () => {
    const evil = '"><img src=x onerror=alert(1)>';
    const views = VIEWS.map((view) => ({
      ...view,
      caption: { words: [evil, { id: evil, text: evil }] },
      summary: evil,
      tensors: { t0: [evil, evil, evil, evil, evil, evil] },
      rows: { n0: [evil, evil, evil] },
    }));
    const codes = [{ name: evil, first: 1, lines: [evil] }];
    const { svg, elements: known } = recording.pictures.normal as StepPicture;
    const elements = {
      ...known,
      "gv-n0": [[], [recording.pieces.length]],
    };
    const pieces = [
      ...recording.pieces,
      '<g id="gv-n0"><script>alert(1)</script><g onclick="alert(1)"/></g>',
    ];
    const { el, model } = mount({
      wire: { ...recording, views, codes, pieces, pictures: inAll({ svg, elements }) },
      step: 0,
    });
    model.set("step", 3);
    expect(el.querySelector("img, script, [onclick]")).toBeNull();
    expect(el.textContent).toContain(evil);
  });
});
