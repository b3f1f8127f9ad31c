// What happened in a step, as one sentence whose words light up what they speak of.
import type { Context } from "./context";
import { focusable, html } from "./dom";
import type { Steps } from "./steps";
import { linkWords, makeWords } from "./words";

export function makeCaption(context: Context, steps: Steps, more: HTMLElement): HTMLElement {
  const { store, prefix } = context;
  const heading = html("div", { class: "gradviz-heading", id: `${prefix}-what` }, "What happened");
  const sentence = html("p", { class: "gradviz-sentence" });
  const element = html("div", { class: "gradviz-caption", role: "group" });
  element.append(html("div", { class: "gradviz-caption-head" }, heading, more), sentence);
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
    const pieces = makeWords(view.caption);
    words = pieces.filter((piece) => typeof piece !== "string");
    sentence.replaceChildren(...pieces);
    element.classList.toggle("is-raised", view.kind === "error");
    if (focused < 0) return;
    // The focus stays with the same word, else at its place, else with the sentence.
    (words.find((word) => word.dataset.word === id) ?? words[focused] ?? element).focus();
  });
  linkWords(context, element, steps);
  return element;
}
