import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import stored from "../../../tests/golden/exploration.json";
import type { Exploration, Part } from "../../src/documents/exploration";
import { parseDocument } from "../../src/documents/parse";
import widget from "../../src/index";
import { FakeModel, wire as loss } from "../support/model";

const number = (label: string, value: number): Part => ({
  ...{ kind: "number", label, text: label, tip: "", value, first: 2, whole: false, step: 0.1 },
  slider: { min: -5, max: 5 },
});
const toggle = (label: string, value: boolean): Part => ({
  ...{ kind: "switch", label, text: "requires_grad", tip: "records", value, first: true },
});
const exploration = (a = 2, on = true, own: Partial<Exploration> = {}): Exploration => ({
  title: "program(a)",
  results: [{ name: "y", value: String(a * a) }],
  controls: [
    {
      ...{ name: "a", note: "", columns: 1 },
      parts: [number("a", a), toggle("a requires_grad", on)],
      gradient: { label: "∂y/∂a", value: String(2 * a), tip: "derivative" },
    },
  ],
  backward: "",
  has_failed: false,
  message: [],
  printed: "",
  changed: [],
  code: "import torch\n",
  has_picture: true,
  ...own,
});
const documentOf = (...given: Parameters<typeof exploration>) => ({
  ...loss,
  exploration: exploration(...given),
});

/** A kernel that answers when it is told to. */
class Kernel extends FakeModel {
  constructor(state: Record<string, unknown> = {}) {
    super({ wire: documentOf(), request: { turn: 0, values: [] }, answered: 0, ...state });
  }
  get requests() {
    return this.sent.flatMap((one) => (one.request ? [one.request] : [])) as {
      turn: number;
      values: unknown[];
    }[];
  }
  answer(wire?: unknown) {
    if (wire) this.set("wire", wire);
    this.set("answered", (this.get("request") as { turn: number }).turn);
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("CSS", { escape: (text: string) => text.replace(/[^\w-]/g, "\\$&") });
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  document.body.replaceChildren();
});

const mount = (model: Kernel) => {
  const el = document.body.appendChild(document.createElement("div"));
  const end = widget.render({ model, el });
  const one = <T extends Element = HTMLInputElement>(selector: string) =>
    el.querySelector<T>(selector) as T;
  const drag = (value: number) => {
    one(".gradviz-inputs [type=range]").value = String(value);
    one(".gradviz-inputs [type=range]").dispatchEvent(new Event("input"));
  };
  return { el, end, one, drag };
};
const opened = () => {
  const model = new Kernel();
  const shown = mount(model);
  model.answer();
  vi.advanceTimersByTime(100);
  return { model, ...shown };
};

describe("requests", () => {
  it("asks without values first, and opens the inputs when it is answered", () => {
    const model = new Kernel();
    const { one } = mount(model);
    expect(model.requests).toEqual([{ turn: 1, values: [] }]);
    expect(one<HTMLFieldSetElement>("fieldset").disabled).toBe(true);
    model.answer();
    expect(one<HTMLFieldSetElement>("fieldset").disabled).toBe(false);
  });

  it("has one on its way, and the next carries the newest value", () => {
    const { model, drag } = opened();
    for (const value of [2.1, 2.2, 2.3]) drag(value);
    expect(model.requests.slice(1)).toEqual([{ turn: 2, values: [["a", 0, 2.1]] }]);
    vi.advanceTimersByTime(1000);
    expect(model.requests).toHaveLength(2);
    model.answer(documentOf(2.1));
    expect(model.requests.at(-1)).toEqual({ turn: 3, values: [["a", 0, 2.3]] });
    model.answer(documentOf(2.3));
    vi.advanceTimersByTime(1000);
    expect(model.requests).toHaveLength(3);
  });

  it("leaves 60 ms between two, however fast the answers are", () => {
    const { model, drag } = opened();
    drag(2.1);
    model.answer();
    drag(2.2);
    drag(2.3);
    vi.advanceTimersByTime(50);
    expect(model.requests).toHaveLength(2);
    vi.advanceTimersByTime(15);
    expect(model.requests.at(-1)).toEqual({ turn: 3, values: [["a", 0, 2.3]] });
  });

  it("keeps what a person sets while an older answer arrives", () => {
    const { model, drag, one } = opened();
    drag(2.1);
    drag(2.9);
    model.answer(documentOf(2.1));
    expect([
      one(".gradviz-inputs [type=range]").value,
      one(".gradviz-inputs [type=number]").value,
    ]).toEqual(["2.9", "2.9"]);
    model.answer(documentOf(2.9));
    expect(one(".gradviz-inputs [type=number]").value).toBe("2.9");
  });

  it("says that nobody answers, and goes on when somebody does", () => {
    const { model, drag, one } = opened();
    drag(2.1);
    vi.advanceTimersByTime(3000);
    expect(one(".gradviz-progress").textContent).toContain("No answer from Python yet");
    model.answer(documentOf(2.1));
    expect(one<HTMLElement>(".gradviz-progress").hidden).toBe(true);
  });

  it("waits with another view of the same widget, whose request is not overwritten", () => {
    const model = new Kernel();
    mount(model);
    const second = mount(model);
    expect(model.requests).toHaveLength(1);
    model.answer();
    expect(second.one<HTMLFieldSetElement>("fieldset").disabled).toBe(false);
  });

  it("ends with its view", () => {
    const { model, drag, end } = opened();
    drag(2.1);
    drag(2.2);
    end();
    model.answer();
    vi.advanceTimersByTime(1000);
    expect(model.requests).toHaveLength(2);
    expect(model.listenerCount).toBe(0);
  });
});

describe("inputs", () => {
  it("take typed numbers, and refuse what is none", () => {
    const { model, one } = opened();
    const field = one(".gradviz-inputs [type=number]");
    field.value = "3.5";
    field.dispatchEvent(new Event("change"));
    expect(model.requests.at(-1)?.values).toEqual([["a", 0, 3.5]]);
    expect(one(".gradviz-inputs [type=range]").value).toBe("3.5");
    field.value = "";
    field.dispatchEvent(new Event("change"));
    expect(field.getAttribute("aria-invalid")).toBe("true");
    expect(model.requests).toHaveLength(2);
  });

  it("step by arrow keys without dust", () => {
    const { model, one } = opened();
    const field = one(".gradviz-inputs [type=number]");
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp" }));
    expect(model.requests.at(-1)?.values).toEqual([["a", 0, 2.1]]);
  });

  it("go back to their first values in one request", () => {
    const { model, el } = opened();
    model.set("wire", documentOf(4, false));
    const reset = [...el.querySelectorAll("button")].find((b) => b.textContent === "Reset");
    reset?.click();
    expect(model.requests.at(-1)).toEqual({
      turn: 2,
      values: [
        ["a", 0, 2],
        ["a", 1, true],
      ],
    });
  });

  it("keep the focus when an answer arrives, and every one has a name", () => {
    const { model, one, el } = opened();
    one(".gradviz-inputs [type=number]").focus();
    model.answer(documentOf(4, false));
    expect(document.activeElement).toBe(one(".gradviz-inputs [type=number]"));
    expect(one(".gradviz-inputs [type=checkbox]").checked).toBe(false);
    const names = [...el.querySelectorAll<HTMLInputElement>("fieldset input")].map(
      (input) => input.getAttribute("aria-label") ?? input.labels?.[0]?.textContent,
    );
    expect(names).toEqual(["a requires_grad", "a", "a, slider"]);
  });

  it("are closed in a page without Python, which says why at once", () => {
    const { one } = mount(new Kernel({ request: undefined, answered: undefined }));
    expect(one<HTMLFieldSetElement>("fieldset").disabled).toBe(true);
    expect(one(".gradviz-progress").textContent).toContain("this page has no kernel");
    expect(one(".gradviz-inputs [type=number]").value).toBe("2");
  });
});

describe("numbers", () => {
  const shown = (el: Element, selector: string) =>
    [...el.querySelectorAll(selector)].map((one) => one.textContent);

  it("are the result, and beside each input its gradient, as of the last answer", () => {
    const { model, el, drag } = opened();
    expect(shown(el, ".gradviz-value")).toEqual(["y = 4"]);
    expect(shown(el, ".gradviz-derivative")).toEqual(["∂y/∂a 4"]);
    drag(3);
    expect(shown(el, ".gradviz-derivative")).toEqual(["∂y/∂a 4"]);
    model.answer(documentOf(3));
    expect(shown(el, ".gradviz-value")).toEqual(["y = 9"]);
    expect(shown(el, ".gradviz-derivative")).toEqual(["∂y/∂a 6"]);
  });

  it("are said to be unknown where Python does not know them", () => {
    const { model, el, one } = opened();
    const [control] = exploration().controls as [Exploration["controls"][number]];
    const gradient = { label: "a.grad", value: "?", tip: "the last run raised an error" };
    const results = [{ name: "y", value: "?" }];
    model.set("wire", documentOf(2, true, { results, controls: [{ ...control, gradient }] }));
    expect(shown(el, ".gradviz-value")).toEqual(["y = ?"]);
    expect(shown(el, ".gradviz-derivative")).toEqual(["a.grad ?"]);
    model.set("wire", documentOf(2, true, { controls: [{ ...control, gradient: null }] }));
    expect(one<HTMLElement>(".gradviz-derivative").hidden).toBe(true);
  });

  it("come with a sentence about who has called backward", () => {
    const { model, one } = opened();
    expect(one(".gradviz-backward")).toBeNull();
    model.set("wire", documentOf(2, true, { backward: "The function calls backward()." }));
    expect(one(".gradviz-backward").textContent).toBe("The function calls backward().");
  });
});

describe("results", () => {
  it("show an error, what changed and what was printed as text", () => {
    const { model, el, one } = opened();
    const changed = ["What changed since the run before", "a: values 2.0 → <b>"];
    model.set("wire", documentOf(2, true, { changed, printed: "<i>" }));
    expect(el.querySelector(".gradviz-changed li")?.textContent).toBe("a: values 2.0 → <b>");
    expect(el.querySelector(".gradviz-results pre")?.textContent).toBe("<i>");
    const message = ["ValueError: no", "line 2 of program: raise"];
    model.set("wire", documentOf(2, true, { has_failed: true, message }));
    expect(one(".gradviz-message strong").textContent).toBe("ValueError: no");
    expect(one(".gradviz-above").classList.contains("is-old")).toBe(true);
  });

  it("are said once the runs have settled", () => {
    const { model, one } = opened();
    const changed = ["What changed since the run before", "a: values 2.0 → 2.1"];
    for (const a of [2.1, 2.2]) model.set("wire", documentOf(a, true, { changed }));
    expect(one(".gradviz-root > [role=status]").textContent).toBe("");
    vi.advanceTimersByTime(800);
    expect(one(".gradviz-root > [role=status]").textContent).toBe(changed.join("; "));
  });
});

it("what Python stored is accepted", () => {
  expect(parseDocument({ ...loss, exploration: stored })).toBeTruthy();
  const kinds = stored.controls.flatMap(({ parts }) => parts.map(({ kind }) => kind));
  expect(new Set(kinds)).toEqual(new Set(["number", "switch", "choice", "text"]));
});

it("a damaged exploration is refused", () => {
  const damaged = { ...documentOf(), exploration: { ...exploration(), controls: [{}] } };
  expect(() => parseDocument(damaged)).toThrow('"exploration"');
});
