// One of several options, as radio buttons.
import type { FormData } from "../../documents/question";
import type { FormKind } from "./form";
import { mark, optionRows } from "./options";

interface ChooseData extends FormData {
  readonly options: readonly string[];
}

export const choose: FormKind<ChooseData> = {
  make({ prefix, changed }, { options }) {
    const { boxes, rows, element } = optionRows("radio", options, `${prefix}-choose`);
    element.addEventListener("change", changed);
    return {
      element,
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
