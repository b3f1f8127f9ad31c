// Sentences with active terms: hovering highlights the named item everywhere, a click selects it or
// goes to the step of a line.

import type { Sentence } from "../documents/sentence";
import { focusable, html } from "../lib/dom";
import { relatedTo } from "../model/related";
import type { PanelContext } from "../panel_context";
import type { StepCursor } from "./step_cursor";

/** Text, with a button for each term; the sign that ends a term stays on its line. */
export function richText(sentence: Sentence): (HTMLElement | string)[] {
  let sign = "";
  return sentence.map((part, at) => {
    if (typeof part === "string") return part.slice(sign.length);
    const { id, text, step } = part;
    const props = { type: "button", class: "gradviz-word", "data-word": id, "data-step": step };
    const word = focusable(html("button", props, text));
    const after = sentence[at + 1];
    sign = typeof after === "string" ? (/^[.,:;]/.exec(after)?.[0] ?? "") : "";
    return sign ? html("span", { class: "gradviz-kept" }, word, sign) : word;
  });
}

/** Makes the terms inside an element active, also those added later. */
export function linkTerms({ store }: PanelContext, element: HTMLElement, cursor: StepCursor): void {
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
    if (step !== undefined) cursor.jump(Number(step));
    else if (word.startsWith("line:")) cursor.jumpToLine(word);
    else if (word) store.set("selected", store.get("timeline")?.itemOf(word) ?? "");
  });
  store.watch(["at", "lit", "timeline"], () => {
    const light = relatedTo(store.get("timeline"), store.get("lit"));
    for (const word of element.querySelectorAll<HTMLElement>("[data-word]")) {
      word.classList.toggle("is-lit", light.has(word.dataset.word ?? ""));
    }
  });
}
