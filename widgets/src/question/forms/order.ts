// Steps to be put in order: each is moved by its two buttons, or by the arrow keys on them.
import type { FormData } from "../../documents/question";
import { claim, focusable, html } from "../../lib/dom";
import { icon } from "../../lib/icons";
import { inlineCode } from "../../lib/inline_code";
import type { FormKind } from "./form";
import { mark } from "./options";

interface OrderData extends FormData {
  /** As they are shown at first. */
  readonly items: readonly string[];
}

const MOVES = { up: -1, down: 1 } as const;

export const order: FormKind<OrderData> = {
  make({ changed, announce }, { items }) {
    const list = html("ol", { class: "gradviz-order" });
    let now: readonly string[] = items;
    let isMoved = false;
    let isOpen = true;
    const rows = new Map(
      items.map((item) => {
        const buttons = (["up", "down"] as const).map((way) => {
          const props = { type: "button", class: "gradviz-button", "data-way": way };
          const button = focusable(html("button", props, icon(way)));
          button.setAttribute("aria-label", `Move ${way}: ${item}`);
          button.addEventListener("click", () => move(item, MOVES[way]));
          return button;
        });
        const words = html("span", { class: "gradviz-order-words" }, ...inlineCode(item));
        const note = html("span", { class: "gradviz-verdict" });
        const row = html("li", {}, words, note, ...buttons);
        row.addEventListener("keydown", (event) => {
          const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
          if (by === undefined || !isOpen) return;
          claim(event);
          move(item, by);
        });
        return [item, row] as const;
      }),
    );
    const place = () => {
      // The element that has the focus stays in the page, so that it keeps it.
      now.forEach((item, i) => {
        const row = rows.get(item) as HTMLElement;
        const [up, down] = row.querySelectorAll("button");
        up?.setAttribute("aria-disabled", String(i === 0));
        down?.setAttribute("aria-disabled", String(i === now.length - 1));
      });
      const focused = document.activeElement;
      list.replaceChildren(...now.map((item) => rows.get(item) as HTMLElement));
      if (focused instanceof HTMLElement && list.contains(focused)) focused.focus();
    };
    const move = (item: string, by: number) => {
      const from = now.indexOf(item);
      const to = from + by;
      if (!isOpen || to < 0 || to >= now.length) return;
      const others = now.filter((one) => one !== item);
      now = [...others.slice(0, to), item, ...others.slice(to)];
      isMoved = true;
      place();
      announce(`${item}: now ${to + 1} of ${now.length}`);
      changed();
    };
    const setOpen = (open: boolean) => {
      isOpen = open;
      for (const button of list.querySelectorAll("button")) button.hidden = !open;
    };
    place();
    return {
      element: list,
      answer: () => (isMoved ? now : undefined),
      show(answer) {
        isMoved = Array.isArray(answer) && isOrderOf(items, answer);
        now = isMoved ? (answer as string[]) : items;
        place();
        setOpen(true);
        for (const row of rows.values()) mark(row, "");
      },
      reveal(key, answer) {
        const [right, given] = [key, answer] as (readonly string[])[];
        now = right ?? now;
        place();
        setOpen(false);
        right?.forEach((item, i) => {
          const at = given?.indexOf(item) ?? -1;
          mark(rows.get(item), at === i ? "right" : "wrong", at === i ? "✓" : `✗ yours: ${at + 1}`);
        });
      },
    };
  },
  judge(_form, key, answer) {
    const [right, given] = [key, answer] as (readonly string[])[];
    const wrong = given?.filter((item, i) => right?.[i] !== item) ?? [];
    return { right: !wrong.length, wrong: wrong.slice(0, 1) };
  },
};

function isOrderOf(items: readonly string[], answer: readonly unknown[]): boolean {
  return answer.length === items.length && items.every((item) => answer.includes(item));
}
