import { afterEach, describe, expect, it, vi } from "vitest";
import judged from "../../../tests/golden/question/judged.json";
import unread from "../../../tests/golden/question/unread.json";
import { readValue } from "../../src/question/forms/numbers";
import { formOf } from "../../src/question/forms/table";

afterEach(() => document.body.replaceChildren());

const makeField = (form: (typeof judged)[number]["form"]) => {
  const changed = vi.fn();
  const context = {
    prefix: "p",
    signal: new AbortController().signal,
    tooltip: {} as never,
    announce: vi.fn(),
    submit: vi.fn(),
    changed,
  };
  const field = formOf(form).make(context, form);
  document.body.append(field.element);
  return { field, context };
};

describe("forms", () => {
  it.each(judged)("judge $form.kind $answer as Python does", ({ form, key, answer, ...rest }) => {
    const verdict = formOf(form).judge(form, key, answer, rest.named);
    expect(verdict).toEqual({ right: rest.right, wrong: rest.wrong });
  });

  it.each(unread)("read no value in %j", (text) => {
    expect(readValue(text)).toBeUndefined();
  });

  it.each(judged)("show and lock a kept answer: $form.kind $answer", ({ form, key, answer }) => {
    const { field } = makeField(form);
    expect(field.answer()).toBeUndefined();
    field.show(answer);
    const given = typeof answer === "string" ? answer.trim() : answer;
    expect(field.answer()).toEqual(given);
    field.reveal(key, answer);
    const controls = [...field.element.querySelectorAll("input, select, button")];
    const isOpen = (one: Element) =>
      !(one as HTMLInputElement).disabled && !(one as HTMLElement).hidden;
    expect(controls.filter(isOpen)).toEqual([]);
    field.show(undefined);
    expect(field.answer()).toBeUndefined();
    expect(controls.filter(isOpen)).toEqual(controls);
  });

  it("let go of ticks when none is meant, and the other way round", () => {
    const { field, context } = makeField({
      kind: "tick",
      options: ["a", "b"],
      none: "none",
    } as never);
    const boxes = [...field.element.querySelectorAll("input")];
    boxes[0]?.click();
    expect(field.answer()).toEqual(["a"]);
    boxes[2]?.click();
    expect(field.answer()).toEqual([]);
    boxes[1]?.click();
    expect(field.answer()).toEqual(["b"]);
    boxes[1]?.click();
    expect(field.answer()).toBeUndefined();
    expect(context.changed).toHaveBeenCalledTimes(4);
  });

  it("check with Enter what is typed", () => {
    const { field, context } = makeField({ kind: "typed", label: "x", hint: "" } as never);
    const box = field.element.querySelector("input") as HTMLInputElement;
    box.value = "six";
    box.dispatchEvent(new Event("input"));
    expect(field.answer()).toBeUndefined();
    box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    expect(context.submit).toHaveBeenCalledOnce();
  });

  it("move an item by arrow keys, keep the focus on it, and say where it is", () => {
    const { field, context } = makeField({ kind: "order", items: ["a", "b", "c"] } as never);
    const button = field.element.querySelector<HTMLElement>('[aria-label="Move up: c"]');
    button?.focus();
    const press = (key: string) =>
      button?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    press("ArrowUp");
    press("ArrowUp");
    press("ArrowUp");
    expect(field.answer()).toEqual(["c", "a", "b"]);
    expect(document.activeElement).toBe(button);
    expect(context.announce).toHaveBeenLastCalledWith("c: now 1 of 3");
  });

  it("say that they do not know another form", () => {
    expect(() => formOf({ kind: "toString" })).toThrow('no question to "toString"');
  });
});
