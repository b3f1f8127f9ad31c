// What every question looks like: its words, its program, its answers, and a foot.
import { focusable, html } from "../lib/dom";
import { inlineCode } from "../lib/inline_code";
import { codeElements } from "../lib/python_code";
import type { Field } from "./forms/form";

export function frame(
  words: string,
  code: HTMLElement,
  field: Field,
  id: string,
  foot: readonly HTMLElement[],
): HTMLElement {
  const heading = html("div", { class: "gradviz-question-words", id }, ...inlineCode(words));
  const props = { class: "gradviz-answers", role: "group", "aria-labelledby": id };
  const answers = html("div", props, field.element);
  const bar = html("div", { class: "gradviz-question-foot" }, ...foot);
  const side = html("div", { class: "gradviz-question-side" }, answers, bar);
  return html(
    "div",
    { class: "gradviz-question" },
    heading,
    html("div", { class: "gradviz-question-body" }, code, side),
  );
}

export function program({
  first,
  lines,
}: {
  readonly first: number;
  readonly lines: readonly string[];
}): HTMLElement {
  const rows = lines.map((line, i) => {
    const number = html("span", { class: "gradviz-number" }, String(first + i));
    const words = html("code", {}, ...codeElements(line));
    words.style.setProperty("--indent", `${line.length - line.trimStart().length + 2}ch`);
    return html("li", {}, html("div", { class: "gradviz-line" }, number, words));
  });
  // A scrolling region must be reachable by keyboard.
  const props = { class: "gradviz-program", role: "group", "aria-label": "program", tabindex: 0 };
  const list = html("ol", { class: "gradviz-lines" }, ...rows);
  const element = focusable(html("div", props, list));
  element.hidden = !lines.length;
  return element;
}
