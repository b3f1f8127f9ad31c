// What happened in a step, as one sentence whose words light up what they speak of.
import type { Context } from "./context";
import { focusable, html } from "./dom";
import { lightOf, type Steps } from "./steps";

export function makeCaption({ store, prefix }: Context, steps: Steps): HTMLElement {
  const heading = html("div", { class: "gradviz-heading", id: `${prefix}-what` }, "What happened");
  const sentence = html("p", { class: "gradviz-sentence" });
  const element = html("div", { class: "gradviz-caption", role: "group" }, heading, sentence);
  element.setAttribute("aria-labelledby", `${prefix}-what`);
  focusable(element, -1);
  let words: HTMLElement[] = [];

  store.watch(["at", "timeline"], () => {
    const timeline = store.get("timeline");
    element.hidden = !timeline;
    if (!timeline) return;
    const view = timeline.view(store.get("at"));
    const focused = words.indexOf(document.activeElement as HTMLElement);
    const id = words[focused]?.dataset.word;
    words = [];
    const pieces = view.caption.map((segment) => {
      if (typeof segment === "string") return segment;
      const props = { type: "button", class: "gradviz-word", "data-word": segment.id };
      const word = focusable(html("button", props, segment.text));
      words.push(word);
      return word;
    });
    sentence.replaceChildren(...pieces);
    element.classList.toggle("is-raised", view.kind === "error");
    if (focused < 0) return;
    // The focus stays with the same word, else at its place, else with the sentence.
    (words.find((word) => word.dataset.word === id) ?? words[focused] ?? element).focus();
  });
  store.watch(["at", "lit", "timeline"], () => {
    const light = lightOf(store.get("timeline"), store.get("lit"));
    for (const word of words) {
      word.classList.toggle("is-lit", light.has(word.dataset.word ?? ""));
    }
  });

  const idAt = (target: EventTarget | null) =>
    (target as Element | null)?.closest<HTMLElement>("[data-word]")?.dataset.word ?? "";
  element.addEventListener("pointerover", (event) => store.set("lit", idAt(event.target)));
  element.addEventListener("pointerleave", () => store.set("lit", ""));
  element.addEventListener("focusin", (event) => store.set("lit", idAt(event.target)));
  element.addEventListener("focusout", () => store.set("lit", ""));
  element.addEventListener("click", (event) => {
    const id = idAt(event.target);
    if (id.startsWith("line:")) steps.jumpToLine(id);
    else if (id) store.set("selected", store.get("timeline")?.itemOf(id) ?? "");
  });
  return element;
}
