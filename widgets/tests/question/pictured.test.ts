// The same table of answers as tests/model/test_picture_forms.py.
import { afterEach, describe, expect, it, vi } from "vitest";
import pictured from "../../../tests/golden/question/pictured.json";
import type { FieldContext } from "../../src/question/forms/form";
import { formOf } from "../../src/question/forms/table";

interface Case {
  readonly kind: string;
  readonly labels: readonly string[];
  readonly key: unknown;
  readonly answer: unknown;
  readonly right: boolean;
  readonly wrong: readonly string[];
}

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"></svg>';

/** What the browser gets of a question with these choices, or edges. */
function dataOf({ kind, labels }: Pick<Case, "kind" | "labels">) {
  const box = [0, 0, 9, 9];
  const choices = labels.map((label, i) => ({
    ...{ id: `n${i}`, label, aria: label, boxes: [box], next: [], prev: [] },
  }));
  const fields = labels.map((label, i) => ({
    ...{ id: `n${i}.0`, label: label.replace("->", "→"), box },
  }));
  const isClick = kind === "click";
  const picture = {
    ...{ svg: SVG, size: [9, 9], of: "nodes", many: true },
    choices: isClick ? choices : [],
    fields: isClick ? [] : fields,
  };
  return { kind, picture };
}

const view = new AbortController();
function made(kind: string, labels: readonly string[]) {
  const data = dataOf({ kind, labels });
  const [changed, submit] = [vi.fn(), vi.fn()];
  const context = { prefix: "q", signal: view.signal, changed, submit, announce: vi.fn() };
  const field = formOf(data).make(context as unknown as FieldContext, data);
  document.body.replaceChildren(field.element);
  return { field, changed, submit };
}

afterEach(() => document.body.replaceChildren());

describe("forms that are answered in a picture", () => {
  it.each(pictured as readonly Case[])("judge $kind as Python does: $answer", (one) => {
    const data = dataOf(one);
    const { right, wrong } = formOf(data).judge(data, one.key, one.answer, []);
    expect({ right, wrong }).toEqual({ right: one.right, wrong: one.wrong });
  });

  it("have no answer before something is picked, then the labels of what is", () => {
    const { field, changed } = made("click", ["MulBackward0", "a"]);
    expect(field.answer()).toBeUndefined();
    field.element.querySelector<HTMLElement>("button[data-id=n1]")?.click();
    expect(field.answer()).toEqual(["a"]);
    expect(changed).toHaveBeenCalledOnce();
  });

  it("have no answer before every field can be read, and ask for Check at Enter", () => {
    const { field, submit } = made("edges", ["MulBackward0 -> a", "MulBackward0 -> b"]);
    const [one, other] = [...field.element.querySelectorAll("input")] as HTMLInputElement[];
    if (!one || !other) throw new Error("no fields");
    const hint = field.element.querySelector(`#${one.getAttribute("aria-describedby")}`);
    expect(hint?.textContent).toContain("or None");
    one.value = "3";
    expect(field.answer()).toBeUndefined();
    other.value = "two";
    expect(field.answer()).toBeUndefined();
    other.value = "2.";
    expect(field.answer()).toEqual({ "MulBackward0 -> a": "3", "MulBackward0 -> b": "2." });
    other.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    expect(submit).toHaveBeenCalledOnce();
  });

  it("show what was answered before, and correct it", () => {
    const { field } = made("edges", ["MulBackward0 -> a", "MulBackward0 -> b"]);
    const typed = { "MulBackward0 -> a": "3", "MulBackward0 -> b": "5" };
    field.show(typed);
    expect(field.answer()).toEqual(typed);
    field.reveal({ "MulBackward0 -> a": 3, "MulBackward0 -> b": [1 / 3, null] }, typed);
    const words = [...field.element.querySelectorAll(".gradviz-blank-word")];
    expect(words.map((word) => word.textContent)).toEqual(["✓ right", "✕ torch: [0.333333, None]"]);
    field.show(undefined);
    expect(field.answer()).toBeUndefined();
    expect(words.map((word) => word.textContent)).toEqual(["", ""]);
  });

  it("mark what was picked and what is the answer", () => {
    const { field } = made("click", ["MulBackward0", "a", "b"]);
    field.show(["a", "b"]);
    field.reveal(["MulBackward0", "b"], ["a", "b"]);
    const verdicts = [...field.element.querySelectorAll<HTMLElement>("button")];
    expect(verdicts.map((one) => one.dataset.verdict)).toEqual(["missed", "wrong", "right"]);
  });

  it("say that a picture is damaged", () => {
    const data = { kind: "click", picture: { svg: SVG } };
    expect(() => formOf(data).make({} as FieldContext, data)).toThrow("is damaged");
  });
});
