// A number, a list of numbers, or None, typed in.
import type { FormData } from "../../documents/question";
import { focusable, html } from "../../lib/dom";
import { inlineCode } from "../../lib/inline_code";
import type { FormKind } from "./form";
import { isSame, readValue, type Value } from "./numbers";
import { mark } from "./options";

interface TypedData extends FormData {
  /** The words before the field. */
  readonly label: string;
  /** What can be typed. */
  readonly hint: string;
}

export const typed: FormKind<TypedData> = {
  make({ prefix, changed, submit }, { label, hint }) {
    const [id, help] = [`${prefix}-typed`, `${prefix}-typed-hint`];
    const props = { id, type: "text", autocomplete: "off", spellcheck: "false" };
    const field = focusable(html("input", { ...props, "aria-describedby": help }));
    field.addEventListener("input", changed);
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") submit();
    });
    const note = html("span", { class: "gradviz-verdict" });
    const name = html("label", { for: id }, ...inlineCode(label), " =");
    const row = html("div", { class: "gradviz-typed" }, name, field, note);
    return {
      element: html("div", {}, row, html("div", { class: "is-quiet", id: help }, `Type ${hint}.`)),
      answer: () => (readValue(field.value) === undefined ? undefined : field.value.trim()),
      show(answer) {
        field.value = answer === undefined ? "" : String(answer);
        field.disabled = false;
        mark(row, "");
      },
      reveal(key, answer) {
        const isRight = isSame(key as Value, readValue(String(answer)) ?? "");
        field.disabled = true;
        mark(row, isRight ? "right" : "wrong", isRight ? "✓" : "✗ your answer");
      },
    };
  },
  judge(_form, key, answer, named) {
    const value = readValue(String(answer)) as Value;
    if (isSame(key as Value, value)) return { right: true, wrong: [] };
    const isNamed = (name: string) => {
      const known = readValue(name);
      return known !== undefined && isSame(known, value);
    };
    return { right: false, wrong: named.filter(isNamed).slice(0, 1) };
  },
};
