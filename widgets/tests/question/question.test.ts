import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import cuts from "../../../tests/golden/recording/cuts.json";
import widget from "../../src/index";
import { compressed } from "../support/compressed";
import { FakeModel } from "../support/model";

const seal = async (answer: object) => (await compressed(answer)).deflate;
const answer = {
  key: "b",
  key_lines: ["b"],
  sentences: { a: "Not `a`.", b: "It is `b`.", c: "Not c." },
  why: "Because.",
  printed: "printed",
  player: cuts,
};
const question = {
  format: 1,
  kind: "question",
  title: "Question",
  summary: "Which?",
  text: "Which?",
  question: "Which `one`?",
  program: { first: 7, lines: ["x = 1", "if x:", "    x = 2"] },
  form: { kind: "choose", options: ["a", "b", "c"] },
  id: "lesson/one",
  digest: "sha256-0",
  sealed: await seal(answer),
};

beforeEach(() => {
  vi.stubGlobal("CSS", { escape: (text: string) => text.replace(/[^\w-]/g, "\\$&") });
  vi.spyOn(console, "error").mockImplementation(() => {});
  localStorage.clear();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  document.body.replaceChildren();
});

const mount = (wire: object = question) => {
  const model = new FakeModel({ wire });
  const el = document.body.appendChild(document.createElement("div"));
  const end = widget.render({ model, el });
  const one = <T extends Element = HTMLElement>(selector: string) =>
    el.querySelector<T>(selector) as T;
  const button = (name: string) =>
    [...el.querySelectorAll("button")].find(
      ({ textContent }) => textContent === name,
    ) as HTMLElement;
  const choose = async (value: string) => {
    one(`input[value=${value}]`).click();
    button("Check").click();
    await vi.waitFor(() => expect(one("[role=status]").textContent).not.toBe(""));
  };
  return { model, el, end, one, button, choose };
};

describe("question", () => {
  it("is judged once something is answered, and the same answer not twice", async () => {
    const { button, choose, one } = mount();
    button("Check").click();
    expect(one("[role=status]").textContent).toBe("");
    await choose("a");
    expect(one("[role=status]").textContent).toBe("Not what torch says. Try once more.");
    expect(button("Check").getAttribute("aria-disabled")).toBe("true");
    expect(one(".gradviz-question-result").hidden).toBe(true);
    button("Check").click();
    expect(JSON.parse(localStorage.getItem("gradviz:question:lesson/one:sha256-0") ?? "")).toEqual([
      "a",
    ]);
    expect(button("Start again").hidden).toBe(false);
  });

  it("shows key, sentences, what was printed and the player after two wrong answers", async () => {
    const { one, choose, button, end, model } = mount();
    await choose("a");
    await choose("c");
    await vi.waitFor(() => expect(one(".gradviz-question-result").hidden).toBe(false));
    expect(one("[role=status]").textContent).toBe("✗ Not what torch says.");
    const told = one(".gradviz-question-told").textContent;
    expect(told).toBe("torch's answerbIt is b.Because.Why nota: Not a.c: Not c.Printedprinted");
    expect(one(".gradviz-root .gradviz-root").dataset.ready).toBe("true");
    expect(document.activeElement).toBe(one(".gradviz-question-result"));
    model.set("theme", "dark");
    expect(one(".gradviz-root .gradviz-root").dataset.theme).toBe("dark");
    button("Start again").click();
    expect(one(".gradviz-root .gradviz-root")).toBeNull();
    expect(localStorage.length).toBe(0);
    end();
    expect(model.listenerCount).toBe(0);
  });

  it("shows again what was answered, and forgets what fits no more", async () => {
    localStorage.setItem("gradviz:question:lesson/one:sha256-0", '["a", "b"]');
    const { one } = mount();
    await vi.waitFor(() => expect(one("[role=status]").textContent).toBe("✓ Right."));
    expect(one<HTMLInputElement>("input[value=b]").checked).toBe(true);
    expect(document.activeElement).toBe(document.body);
    for (const kept of ['["x"]', "{", "7"]) {
      localStorage.setItem("gradviz:question:lesson/one:sha256-0", kept);
      expect(mount().one("[role=status]").textContent).toBe("");
    }
  });

  it("works where the browser keeps nothing", async () => {
    vi.stubGlobal("localStorage", {
      getItem: () => {
        throw new Error("denied");
      },
      setItem: () => {
        throw new Error("denied");
      },
    });
    const { one, choose } = mount();
    await choose("b");
    expect(one("[role=status]").textContent).toBe("✓ Right.");
  });

  it("says what is wrong with a damaged question or answer", async () => {
    const damaged = mount({ ...question, program: {} });
    expect(damaged.el.textContent).toContain('the field "program" of this question is damaged');
    const sealed = mount({ ...question, sealed: await seal({}) });
    await sealed.choose("a");
    expect(sealed.one("[role=status]").textContent).toContain("the answer of this question is");
  });

  it("is forgotten with all others by a button", async () => {
    const { one, choose } = mount();
    await choose("a");
    const forget = mount({ format: 1, kind: "answered questions", text: "" });
    expect(localStorage.length).toBe(1);
    forget.button("Forget all answers").click();
    expect(forget.one("[role=status]").textContent).toBe("1 answer is forgotten.");
    expect(one("[role=status]").textContent).toBe("");
    expect(localStorage.length).toBe(0);
  });
});
