// A row with a control and its words, and the mark that it has when the answer is known.
import { focusable, html } from "../../lib/dom";
import { inlineCode } from "../../lib/inline_code";

const MARKS = { right: "✓ torch's answer", wrong: "✗ your answer", "": "" };
export type Mark = keyof typeof MARKS;

/** The rows of options, each a control and its value in words. */
export function optionRows(
  kind: "radio" | "checkbox",
  values: readonly string[],
  name?: string,
): {
  readonly boxes: HTMLInputElement[];
  readonly rows: HTMLElement[];
  readonly element: HTMLElement;
} {
  const boxes = values.map((value) => focusable(html("input", { type: kind, name, value })));
  const rows = boxes.map((box) => {
    const note = html("span", { class: "gradviz-verdict" });
    const label = html("label", {}, box, html("span", {}, ...inlineCode(box.value)));
    return html("div", { class: "gradviz-option" }, label, note);
  });
  return { boxes, rows, element: html("div", { class: "gradviz-options" }, ...rows) };
}

/** Marks a row by a word, a sign and a colour. */
export function mark(row: HTMLElement | undefined, as: Mark, words = MARKS[as]): void {
  if (!row) return;
  row.classList.toggle("is-right", as === "right");
  row.classList.toggle("is-wrong", as === "wrong");
  const note = row.querySelector(".gradviz-verdict");
  if (note) note.textContent = words;
}
