// Words that speak of a thing: pointed at they light it up everywhere, clicked they select it, or
// go to the step of a line.
import type { CardSegment } from "./card_wire";
import type { Context } from "./context";
import { focusable, html } from "./dom";
import { lightOf, type Steps } from "./steps";

/** Text, and buttons for what has an id. */
export function makeWords(segments: readonly CardSegment[]): (HTMLElement | string)[] {
  return segments.map((segment) => {
    if (typeof segment === "string") return segment;
    const { id, text, step } = segment;
    const props = { type: "button", class: "gradviz-word", "data-word": id, "data-step": step };
    return focusable(html("button", props, text));
  });
}

/** Lets the words inside an element act, also those that come later. */
export function linkWords({ store }: Context, element: HTMLElement, steps: Steps): void {
  const wordAt = (target: EventTarget | null) =>
    (target as Element | null)?.closest<HTMLElement>("[data-word]")?.dataset ?? {};
  const light = (event: Event) => store.set("lit", wordAt(event.target).word ?? "");
  const dark = () => store.set("lit", "");
  element.addEventListener("pointerover", light);
  element.addEventListener("pointerleave", dark);
  element.addEventListener("focusin", light);
  element.addEventListener("focusout", dark);
  element.addEventListener("click", (event) => {
    const { word = "", step } = wordAt(event.target);
    if (step !== undefined) steps.jump(Number(step));
    else if (word.startsWith("line:")) steps.jumpToLine(word);
    else if (word) store.set("selected", store.get("timeline")?.itemOf(word) ?? "");
  });
  store.watch(["at", "lit", "timeline"], () => {
    const light = lightOf(store.get("timeline"), store.get("lit"));
    for (const word of element.querySelectorAll<HTMLElement>("[data-word]")) {
      word.classList.toggle("is-lit", light.has(word.dataset.word ?? ""));
    }
  });
}
