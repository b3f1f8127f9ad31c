// A row with a control and its words, and the mark that it has when the answer is known.
import { html } from "../../lib/dom";

const MARKS = { right: "✓ torch's answer", wrong: "✗ your answer", "": "" };
export type Mark = keyof typeof MARKS;

export function optionRow(control: HTMLElement, words: readonly (Node | string)[]): HTMLElement {
  const note = html("span", { class: "gradviz-verdict" });
  const label = html("label", {}, control, html("span", {}, ...words));
  return html("div", { class: "gradviz-option" }, label, note);
}

/** Marks a row by a word, a sign and a colour. */
export function mark(row: HTMLElement | undefined, as: Mark, words = MARKS[as]): void {
  if (!row) return;
  row.classList.toggle("is-right", as === "right");
  row.classList.toggle("is-wrong", as === "wrong");
  const note = row.querySelector(".gradviz-verdict");
  if (note) note.textContent = words;
}
