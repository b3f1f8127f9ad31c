// All options that hold, as check boxes; the last one says that none does.
import type { FormData } from "../../documents/question";
import type { FormKind } from "./form";
import { mark, optionRows } from "./options";

interface TickData extends FormData {
  readonly options: readonly string[];
  /** The words of the last row. */
  readonly none: string;
}

export const tick: FormKind<TickData> = {
  make({ changed }, { options, none }) {
    const { boxes, rows, element } = optionRows("checkbox", [...options, none]);
    const holding = boxes.slice(0, -1);
    const nothing = boxes.at(-1) as HTMLInputElement;
    element.addEventListener("change", ({ target }) => {
      const others = target === nothing ? holding : [nothing];
      if ((target as HTMLInputElement).checked) for (const other of others) other.checked = false;
      changed();
    });
    const ticked = () => holding.filter((box) => box.checked).map((box) => box.value);
    return {
      element,
      answer: () => (nothing.checked || ticked().length ? ticked() : undefined),
      show(answer) {
        const chosen = answer as readonly string[] | undefined;
        boxes.forEach((box, i) => {
          box.checked =
            box === nothing ? chosen?.length === 0 : chosen?.includes(box.value) === true;
          box.disabled = false;
          mark(rows[i], "");
        });
      },
      reveal(key, answer) {
        const [right, chosen] = [key, answer] as (readonly string[])[];
        boxes.forEach((box, i) => {
          const holds = box === nothing ? !right?.length : right?.includes(box.value);
          const isSame =
            holds === (box === nothing ? !chosen?.length : chosen?.includes(box.value));
          box.disabled = true;
          if (isSame) mark(rows[i], holds ? "right" : "", holds ? "✓ holds" : "");
          else mark(rows[i], "wrong", holds ? "✗ it holds" : "✗ it does not hold");
        });
      },
    };
  },
  judge({ options }, key, answer) {
    const [right, chosen] = [key, answer] as (readonly string[])[];
    const wrong = options.filter((one) => right?.includes(one) !== chosen?.includes(one));
    return { right: !wrong.length, wrong };
  },
};
