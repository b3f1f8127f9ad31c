import { afterEach, describe, expect, it, vi } from "vitest";
import type { QuestionPicture } from "../../src/documents/question_picture";
import { makePicking } from "../../src/graph/picking";

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" role="group" aria-label="a graph" viewBox="0 0 200 200">
<g id="gv-n0" data-id="n0" role="img" aria-label="MulBackward0"><title>secret</title><text>MulBackward0</text></g></svg>`;

/** a and b above MulBackward0, as data flows; a has a reference beside it. */
const picture: QuestionPicture = {
  svg: SVG,
  size: [200, 200],
  of: "nodes",
  many: false,
  choices: [
    {
      id: "n0",
      label: "MulBackward0",
      aria: "MulBackward0, root, leads to a, b",
      boxes: [[50, 150, 80, 30]],
      next: ["n1", "n2"],
      prev: [],
    },
    {
      id: "n1",
      label: "a",
      aria: "a, leaf",
      boxes: [
        [0, 0, 50, 30],
        [150, 0, 20, 20],
      ],
      next: [],
      prev: ["n0"],
    },
    { id: "n2", label: "b", aria: "b, leaf", boxes: [[100, 0, 50, 30]], next: [], prev: ["n0"] },
  ],
  fields: [],
};

const view = new AbortController();
function shown(change: Partial<QuestionPicture> = {}) {
  const onChange = vi.fn();
  const context = { prefix: "v1", signal: view.signal, label: "Which node raises?", onChange };
  const made = makePicking({ ...picture, ...change }, context);
  document.body.replaceChildren(made.element);
  const button = (id: string) =>
    made.element.querySelector<HTMLButtonElement>(`button[data-id=${id}]`) as HTMLButtonElement;
  const press = (key: string) =>
    document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const text = () => made.element.querySelector(".gradviz-asked-said")?.textContent;
  return { made, onChange, button, press, text };
}

afterEach(() => document.body.replaceChildren());

describe("picking in the picture of a question", () => {
  it("picks what is clicked, and says so to the eye, to the ear and in words", () => {
    const { made, onChange, button, text } = shown();
    expect(made.picked()).toEqual([]);
    expect(text()).toMatch(/^Pick one node/);
    button("n1").click();
    expect(made.picked()).toEqual(["n1"]);
    expect(button("n1").getAttribute("aria-pressed")).toBe("true");
    expect(text()).toBe("Picked: a");
    expect(onChange).toHaveBeenCalledOnce();
  });

  it("has one picked where one is asked for, and unpicks it at a second click", () => {
    const { made, button } = shown();
    button("n1").click();
    button("n2").click();
    expect(made.picked()).toEqual(["n2"]);
    button("n2").click();
    expect(made.picked()).toEqual([]);
  });

  it("has several picked where several are asked for, in the order of the picture", () => {
    const { made, button, text } = shown({ many: true });
    button("n2").click();
    button("n0").click();
    expect(made.picked()).toEqual(["n0", "n2"]);
    expect(text()).toBe("Picked: MulBackward0, b");
  });

  it("is one tab stop, and arrow keys follow the edges", () => {
    const { made, button, press } = shown();
    const stops = () =>
      [...made.element.querySelectorAll("button")].filter((b) => b.tabIndex === 0);
    expect(stops().map((b) => b.dataset.id)).toEqual(["n0"]);
    button("n0").focus();
    press("ArrowUp");
    expect(document.activeElement).toBe(button("n1"));
    press("ArrowRight");
    expect(document.activeElement).toBe(button("n2"));
    press("ArrowDown");
    expect(document.activeElement).toBe(button("n0"));
    press("End");
    expect(document.activeElement).toBe(button("n2"));
    expect(stops().map((b) => b.dataset.id)).toEqual(["n2"]);
  });

  it("takes a click on a reference for one on its card", () => {
    const { made } = shown();
    const places = made.element.querySelectorAll<HTMLButtonElement>("button[data-id=n1]");
    expect(places).toHaveLength(2);
    expect(places[1]?.getAttribute("aria-hidden")).toBe("true");
    places[1]?.click();
    expect(made.picked()).toEqual(["n1"]);
  });

  it("says to a screen reader what it was given, and nothing that the picture has beside it", () => {
    const { made, button } = shown();
    expect(button("n0").getAttribute("aria-label")).toBe("MulBackward0, root, leads to a, b");
    const svg = made.element.querySelector("svg");
    expect(svg?.getAttribute("aria-hidden")).toBe("true");
    expect(svg?.outerHTML).not.toMatch(/role=|aria-label|secret/);
  });

  it("changes nothing once it is closed, and says which were right", () => {
    const { made, onChange, button } = shown();
    made.pick(["n1", "n9"]);
    made.enable(false);
    button("n2").click();
    expect(made.picked()).toEqual(["n1"]);
    expect(onChange).not.toHaveBeenCalled();
    made.mark(
      new Map([
        ["n1", "wrong"],
        ["n2", "missed"],
      ] as const),
    );
    expect(button("n1").getAttribute("aria-label")).toBe("a, leaf: ✕ wrong");
    expect(button("n2").getAttribute("aria-label")).toBe("b, leaf: ◆ the answer");
    expect(button("n0").getAttribute("aria-label")).not.toMatch(/right|wrong|answer/);
  });
});
