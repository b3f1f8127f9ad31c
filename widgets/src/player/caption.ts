// The caption of a step: one sentence whose terms highlight nodes, tensors and lines.

import { focusable, html, refill } from "../lib/dom";
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

  store.watch(["at", "timeline", "visible"], () => {
    const timeline = store.get("timeline");
    element.hidden = !timeline;
    if (!timeline) return;
    const view = timeline.view(store.get("at"));
    refill(sentence, element, ...richText(cursor.run?.caption ?? view.caption));
    element.classList.toggle("is-raised", view.kind === "error");
  });
  linkTerms(context, element, cursor);
  return element;
}
