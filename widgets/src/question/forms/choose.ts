// One of several options, as radio buttons.
import type { FormData } from "../../documents/question";
import { focusable, html } from "../../lib/dom";
import { inlineCode } from "../../lib/inline_code";
import type { FormKind } from "./form";
import { mark, optionRow } from "./options";

interface ChooseData extends FormData {
  readonly options: readonly string[];
}

export const choose: FormKind<ChooseData> = {
  make({ prefix, changed }, { options }) {
    const boxes = options.map((option) => {
      const box = html("input", { type: "radio", name: `${prefix}-choose`, value: option });
      box.addEventListener("change", changed);
      return focusable(box);
    });
    const rows = boxes.map((box) => optionRow(box, inlineCode(box.value)));
    return {
      element: html("div", { class: "gradviz-options" }, ...rows),
      answer: () => boxes.find((box) => box.checked)?.value,
      show(answer) {
        boxes.forEach((box, i) => {
          box.checked = box.value === answer;
          box.disabled = false;
          mark(rows[i], "");
        });
      },
      reveal(key, answer) {
        boxes.forEach((box, i) => {
          box.disabled = true;
          mark(rows[i], box.value === key ? "right" : box.value === answer ? "wrong" : "");
        });
      },
    };
  },
  judge: (_form, key, answer) => ({
    right: answer === key,
    wrong: answer === key ? [] : [String(answer)],
  }),
  told: (key) => [String(key)],
};
