import { afterEach, describe, expect, it, vi } from "vitest";
import type { QuestionPicture } from "../../src/documents/question_picture";
import { makeEdgeFields } from "../../src/graph/edge_fields";

const picture: QuestionPicture = {
  svg: '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200"></svg>',
  size: [200, 200],
  of: "all",
  many: true,
  choices: [],
  fields: [
    { id: "n3.0", label: "AddBackward0 → MulBackward0", box: [50, 100, 92, 30] },
    { id: "n0.1", label: "MulBackward0 → b", box: [0, 20, 92, 30] },
  ],
};

const view = new AbortController();
function shown() {
  const onChange = vi.fn();
  const isTyped = (text: string) => /^\d+$/.test(text);
  const onSubmit = vi.fn();
  const own = { isTyped, onChange, onSubmit };
  const context = { prefix: "v1", signal: view.signal, label: "Type them", ...own };
  const made = makeEdgeFields(picture, context);
  document.body.replaceChildren(made.element);
  const inputs = [...made.element.querySelectorAll("input")];
  return { made, onChange, onSubmit, inputs };
}

/** A window whose elements are this wide, with an observer that reports when it is told. */
function withWidth(width: number) {
  const resized: (() => void)[] = [];
  let now = width;
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockImplementation(() => now);
  vi.stubGlobal(
    "ResizeObserver",
    class {
      constructor(call: () => void) {
        resized.push(call);
      }
      observe() {}
      disconnect() {}
    },
  );
  return (other: number) => {
    now = other;
    for (const call of resized) call();
  };
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  document.body.replaceChildren();
});

describe("fields on edges", () => {
  it("have the label of their edge and report what was typed by its id", () => {
    const { made, onChange, inputs } = shown();
    expect(inputs.map((one) => one.getAttribute("aria-label"))).toEqual([
      "1: gradient on the edge AddBackward0 → MulBackward0",
      "2: gradient on the edge MulBackward0 → b",
    ]);
    const [first] = inputs as [HTMLInputElement];
    first.value = " 6 ";
    first.dispatchEvent(new Event("input"));
    expect(onChange).toHaveBeenCalledOnce();
    expect(made.values()).toEqual({ "n3.0": "6", "n0.1": "" });
  });

  it("say that a text is no number once it is typed, and no more when it is mended", () => {
    const [first] = shown().inputs as [HTMLInputElement];
    first.value = "six";
    first.dispatchEvent(new Event("change"));
    expect(first.getAttribute("aria-invalid")).toBe("true");
    first.value = "6";
    first.dispatchEvent(new Event("input"));
    expect(first.hasAttribute("aria-invalid")).toBe(false);
  });

  it("ask for a check at Enter", () => {
    const { inputs, onSubmit } = shown();
    inputs[0]?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    expect(onSubmit).toHaveBeenCalledOnce();
  });

  it("are filled again with what was typed before, and then only read", () => {
    const { made, inputs } = shown();
    made.fill({ "n0.1": "2" });
    made.enable(false);
    expect(inputs.map((one) => one.value)).toEqual(["", "2"]);
    expect(inputs.every((one) => one.readOnly)).toBe(true);
  });

  it("say in words and to a screen reader which are right", () => {
    const { made, inputs } = shown();
    made.mark(
      new Map([
        ["n3.0", "right"],
        ["n0.1", "wrong"],
      ] as const),
    );
    const words = [...made.element.querySelectorAll(".gradviz-blank-word")];
    expect(words.map((one) => one.textContent)).toEqual(["✓ right", "✕ wrong"]);
    expect(inputs[1]?.getAttribute("aria-label")).toMatch(/→ b: ✕ wrong$/);
    made.mark(new Map());
    expect(words.map((one) => one.textContent)).toEqual(["", ""]);
  });

  it("are on the edges where there is room, and below the picture where there is little", () => {
    const resize = withWidth(800);
    const { made, inputs } = shown();
    const inPicture = () => made.element.querySelectorAll(".gradviz-asked input").length;
    expect(inPicture()).toBe(2);
    inputs[1]?.focus();
    resize(380);
    expect(inPicture()).toBe(0);
    expect(made.element.classList.contains("is-list")).toBe(true);
    expect(document.activeElement).toBe(inputs[1]);
    resize(800);
    expect(inPicture()).toBe(2);
  });
});
