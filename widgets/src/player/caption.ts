// The caption of a step: where, one sentence, the numbers, and all else behind "more"; terms highlight
// nodes, tensors and lines.

import type { Caption, CaptionRow } from "../documents/recording";
import { focusable, html, refill } from "../lib/dom";
import type { PanelContext } from "../panel_context";
import { makeInside } from "./inside";
import { linkTerms, richText } from "./rich_text";
import type { StepCursor } from "./step_cursor";

export function makeCaption(context: PanelContext, cursor: StepCursor): HTMLElement {
  const { store, prefix } = context;
  const heading = html("div", { class: "gradviz-hidden", id: `${prefix}-what` }, "What happened");
  const told = html("div");
  const details = html("p");
  const more = html("details", {}, focusable(html("summary", {}, "more")), details);
  const foot = html("div", { class: "gradviz-beneath" }, more, makeInside(context, cursor));
  const element = html("div", { class: "gradviz-caption", role: "group" }, heading, told, foot);
  element.setAttribute("aria-labelledby", `${prefix}-what`);
  focusable(element, -1);

  store.watch(["at", "timeline", "visible"], () => {
    const timeline = store.get("timeline");
    element.hidden = !timeline;
    if (!timeline) return;
    const view = timeline.view(store.get("at"));
    const caption = cursor.run?.caption ?? view.caption;
    refill(told, element, ...captionElements(caption));
    more.hidden = !caption.details;
    refill(details, element, ...richText(caption.details ?? []));
    element.classList.toggle("is-raised", view.kind === "error");
  });
  linkTerms(context, element, cursor);
  return element;
}

function captionElements({ place, words, rows }: Caption): HTMLElement[] {
  const found: HTMLElement[] = [html("p", { class: "gradviz-sentence" }, ...richText(words))];
  if (place) found.unshift(html("p", { class: "gradviz-place" }, ...richText(place)));
  if (rows) found.push(html("table", { class: "gradviz-numbers" }, ...numberRows(rows)));
  return found;
}

/** Rows of equal length; what several rows tell is seen once. */
function numberRows(rows: readonly CaptionRow[]): HTMLElement[] {
  const wide = Math.max(...rows.map((row) => row.length));
  return rows.map(([label, ...cells], at) => {
    const head = label ? html("th", { scope: "row" }, label) : html("td");
    head.classList.toggle("is-again", label === rows[at - 1]?.[0]);
    const columns = cells.map((cell) => html("td", {}, ...richText(cell)));
    columns.at(-1)?.setAttribute("colspan", String(wide - cells.length));
    return html("tr", {}, head, ...columns);
  });
}
