import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ExplanationCard } from "../../src/documents/explanation";
import { parseDocument } from "../../src/documents/parse";
import type { StepView } from "../../src/documents/recording";
import widget from "../../src/index";
import { FakeModel } from "../support/model";
import { recording, VIEWS } from "../support/recording";

beforeEach(() => {
  vi.stubGlobal("CSS", { escape: (text: string) => text.replace(/[^\w-]/g, "\\$&") });
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  document.body.replaceChildren();
});

const CARD: ExplanationCard = {
  tone: "error",
  title: "RuntimeError",
  kind: "saved tensor written",
  parts: [
    {
      is: "Paragraph",
      look: "what",
      words: [{ id: "n0", text: "MulBackward0" }, " needs ", { id: "t0", text: "a" }],
    },
    {
      is: "FieldList",
      fields: [
        {
          name: "culprit",
          values: [[{ id: "line:0:3", text: "line 3", step: 3 }]],
          code: "out = a * b",
        },
      ],
    },
    {
      is: "Advice",
      name: "fix 1",
      does: ["makes a new tensor"],
      changes: [
        {
          is: "CodeBlock",
          where: ["in place of ", { id: "line:0:3", text: "line 3" }],
          lines: ["out = b", "a = out"],
          old: "a = b",
        },
        { is: "CodeBlock", where: ["without line 2"], lines: [], old: "" },
      ],
    },
    {
      is: "Details",
      summary: "more",
      parts: [
        { is: "Advice", name: "fix 2", does: ["<b>waits</b>"], changes: [] },
        { is: "Paragraph", look: "", words: ["a was written."] },
        {
          is: "FieldList",
          fields: [
            { name: "culprit", values: [["mul wrote a"]], code: "" },
            { name: "variables", values: [[{ id: "t0", text: "a" }]], code: "" },
          ],
        },
      ],
    },
  ],
  culprit_line: { code: 0, line: 3 },
  culprit_step: 3,
  noticed_line: { code: 0, line: 4 },
  text: "kind: saved tensor written",
};
/** The number of the step of the card. */
const ERROR = 5;
const withCards = (card: ExplanationCard, kind = "error", level = 0) => {
  const last = { ...VIEWS[11], kind, level, at: {}, items: {}, rows: {}, tick: "" } as StepView;
  const number = level < 2 ? [ERROR] : [ERROR, 1];
  const views = [...VIEWS.slice(0, 5), { ...last, number, cards: [card] }];
  views[3] = { ...(views[3] as StepView), ticks: ["culprit"] };
  return { ...recording, views };
};

const mount = (state = {}, card = CARD, kind = "error") => {
  const model = new FakeModel({ wire: withCards(card, kind), step: ERROR, ...state });
  const el = document.body.appendChild(document.createElement("div"));
  widget.render({ model, el });
  const one = <T extends Element = HTMLElement>(selector: string) =>
    el.querySelector<T>(selector) as T;
  const all = (selector: string) => [...el.querySelectorAll<HTMLElement>(selector)];
  const button = (label: string) => one<HTMLButtonElement>(`button[aria-label="${label}"]`);
  const parts = () =>
    all(".gradviz-line").map((line) => line.querySelector(".gradviz-part")?.textContent);
  return { model, el, one, all, button, parts };
};

describe("a card", () => {
  it("says what, the culprit and the first fix; the rest is folded", () => {
    const { one, all } = mount();
    expect(one(".gradviz-card-title").textContent).toBe("saved tensor written");
    expect([...one(".gradviz-card-body").children].map((part) => part.textContent)).toEqual([
      "MulBackward0 needs a",
      "culpritline 3 out = a * b",
      "Fix 1: makes a new tensorin place of line 3:a = bout = b\na = outwithout line 2",
      "moreFix 2: <b>waits</b>a was written.culpritmul wrote avariablesa",
    ]);
    const code = (tag: string) => all(`.gradviz-advice pre ${tag}`).map((e) => e.textContent);
    expect(code("del")).toEqual(["a = b"]);
    expect(code("code")).toEqual(["out = b\na = out"]);
    expect(one<HTMLDetailsElement>("details.gradviz-more").open).toBe(false);
  });

  it("stays unfolded from step to step", () => {
    const { model, one } = mount();
    const more = () => one<HTMLDetailsElement>("details.gradviz-more");
    more().open = true;
    more().dispatchEvent(new Event("toggle"));
    model.set("step", 0);
    model.set("step", ERROR);
    expect(more().open).toBe(true);
  });

  it("is there at its step only, and announced in a few words", () => {
    const { model, one, all } = mount({ step: 0 });
    expect(all(".gradviz-card")).toHaveLength(0);
    model.set("step", ERROR);
    expect(all(".gradviz-card")).toHaveLength(1);
    expect(one("[role=status]").textContent).toContain(
      "has run; out is gone.; explained: RuntimeError, saved tensor written",
    );
  });

  it("is shown at the step that its own is a part of", () => {
    const wire = withCards(CARD, "line", 2);
    const after = { ...(VIEWS[11] as StepView), number: [ERROR], at: {}, items: {}, rows: {} };
    const { all, model } = mount({ wire: { ...wire, views: [...wire.views, after] } });
    expect(all(".gradviz-card")).toHaveLength(1);
    model.set("detail", true);
    expect(all(".gradviz-card")).toHaveLength(0);
  });

  it("highlights and selects what its terms name", () => {
    const { model, one } = mount();
    const word = one('.gradviz-card [data-word="n0"]');
    word.dispatchEvent(new MouseEvent("pointerover", { bubbles: true }));
    expect(one(".gradviz-viewport [data-id=n0]").classList).toContain("is-lit");
    word.click();
    expect(model.state.selected).toBe("n0");
  });

  it("leads to the culprit's step, and from there back; the focus goes along", () => {
    const { model, button, one, all } = mount();
    const jump = button("To the culprit");
    jump.focus();
    jump.click();
    expect(model.state.step).toBe(3);
    expect(one(".gradviz-card-title").textContent).toContain("This line is the culprit");
    expect(button("Jump to error")).toBe(jump);
    expect(document.activeElement).toBe(jump);
    jump.click();
    expect(model.state.step).toBe(ERROR);
    expect(document.activeElement).toBe(button("To the culprit"));
    const line = one('.gradviz-facts [data-word="line:0:3"]');
    line.focus();
    line.click();
    expect(model.state.step).toBe(3);
    expect(document.activeElement?.className).toContain("gradviz-caption");
    model.set("step", 2);
    expect(all(".gradviz-card")).toHaveLength(0);
  });

  it("stands in the column of what happened, under the sentence", () => {
    const { one } = mount();
    const [caption, cards] = [one(".gradviz-caption"), one(".gradviz-cards")];
    expect(cards.parentElement).toBe(caption.parentElement);
    expect(caption.nextElementSibling).toBe(cards);
    expect(one(".gradviz-side").contains(cards)).toBe(true);
  });

  it("is folded until it is unfolded again", () => {
    const { model, button, one } = mount();
    button("Explanation").click();
    expect(one(".gradviz-card-body").hidden).toBe(true);
    expect(button("Explanation").getAttribute("aria-expanded")).toBe("false");
    model.set("step", 0);
    model.set("step", ERROR);
    expect(one(".gradviz-card-body").hidden).toBe(true);
  });

  it("copies a fix, and selects it where copying is not allowed", async () => {
    const written: string[] = [];
    const writeText = async (text: string) => void written.push(text);
    vi.stubGlobal("navigator", { clipboard: { writeText } });
    const { button, one } = mount();
    button("Copy fix 1, change 1").click();
    button("Copy the explanation as text").click();
    await vi.waitFor(() => expect(one("[role=status]").textContent).toBe("copied"));
    expect(written).toEqual(["out = b\na = out", CARD.text]);
    vi.stubGlobal("navigator", {});
    button("Copy fix 1, change 1").click();
    const said = "the browser does not allow copying; the code is selected";
    await vi.waitFor(() => expect(one("[role=status]").textContent).toBe(said));
    expect(getSelection()?.toString()).toBe("out = b\na = out");
  });

  it("marks the culprit's line and the line that shows it", () => {
    const { parts, model } = mount();
    expect(parts()).toEqual(["", "", "! culprit", ""]);
    model.set("step", 3);
    expect(parts()).toEqual(["", "", "! culprit", ""]);
    model.set("step", 2);
    expect(parts()).toEqual(["", "", "", ""]);
  });

  it("of a silent fault says where it takes effect, and is one button away", () => {
    const card = { ...CARD, tone: "warning" as const, title: "no error, but wrong" };
    const { parts, button, one, model } = mount({ step: 0 }, card, "line");
    button("Jump to warning").click();
    expect(model.state.step).toBe(ERROR);
    expect(one(".gradviz-card").classList).toContain("is-warning");
    expect(parts()).toEqual(["", "", "! culprit", "⚠ takes effect"]);
  });

  it("of what is worth a look is no culprit, no fix and no mark of an error", () => {
    const card = { ...CARD, tone: "note" as const, title: "worth a look" };
    const { parts, all, one } = mount({ step: ERROR }, card, "line");
    const found = one(".gradviz-card");
    expect(found.classList).toContain("is-note");
    expect(found.querySelectorAll(".gradviz-card-head > .gradviz-icon")).toHaveLength(0);
    expect(parts()).toEqual(["", "", "", ""]);
    expect(all(".gradviz-jump:not([hidden])")).toHaveLength(0);
  });

  it("has ticks on the time line, told in the legend", () => {
    const { all, one } = mount();
    one('[id$="-tab-legend"]').click();
    expect(all(".gradviz-ticks .is-culprit")).toHaveLength(1);
    const legend = all(".gradviz-legend li").map((li) => li.textContent);
    expect(legend).toContain("the line of the culprit ran");
  });

  it("is refused when it is damaged", () => {
    const advice = { is: "Advice", name: "fix", does: ["x"], changes: [{ where: [] }] };
    const broken = { ...CARD, parts: [{ is: "Details", summary: "more", parts: [advice] }] };
    expect(() => parseDocument(withCards(broken as never))).toThrow('"views"');
  });
});
