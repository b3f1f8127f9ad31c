// The caption of a step: one sentence whose terms highlight nodes, tensors and lines.

import { focusable, html } from "../lib/dom";
import type { PanelContext } from "../panel_context";
import { makeInside } from "./inside";
import { linkTerms, richText } from "./rich_text";
import type { StepCursor } from "./step_cursor";

export function makeCaption(context: PanelContext, cursor: StepCursor): HTMLElement {
  const { store, prefix } = context;
  const heading = html("div", { class: "gradviz-hidden", id: `${prefix}-what` }, "What happened");
  const sentence = html("p", { class: "gradviz-sentence" });
  const element = html("div", { class: "gradviz-caption", role: "group" });
  element.append(heading, sentence, makeInside(context, cursor));
  element.setAttribute("aria-labelledby", `${prefix}-what`);
  focusable(element, -1);
  let words: HTMLElement[] = [];

  store.watch(["at", "timeline", "visible"], () => {
    const timeline = store.get("timeline");
    element.hidden = !timeline;
    if (!timeline) return;
    const view = timeline.view(store.get("at"));
    const focused = words.indexOf(document.activeElement as HTMLElement);
    const id = words[focused]?.dataset.word;
    const pieces = richText(cursor.run?.caption ?? view.caption);
    words = pieces.filter((piece) => typeof piece !== "string");
    sentence.replaceChildren(...pieces);
    element.classList.toggle("is-raised", view.kind === "error");
    if (focused < 0) return;
    // The focus stays on the same word, else at the same place, else on the sentence.
    (words.find((word) => word.dataset.word === id) ?? words[focused] ?? element).focus();
  });
  linkTerms(context, element, cursor);
  return element;
}
