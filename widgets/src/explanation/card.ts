// The cards of a step: why torch raised or a gradient is wrong, the facts and the fixes. At the step
// of the culprit: what it is the culprit of.

import type { ExplanationCard } from "../documents/explanation";
import { makeButton } from "../lib/button";
import { html, refill } from "../lib/dom";
import { icon } from "../lib/icons";
import type { PanelContext } from "../panel_context";
import { makeCopyButton, partElements } from "../parts/parts";
import { linkTerms } from "../player/rich_text";
import type { StepCursor } from "../player/step_cursor";

interface Expanded {
  card: boolean;
  /** What comes after the first fix. */
  more: boolean;
}

export function makeCards(context: PanelContext, cursor: StepCursor): HTMLElement {
  const { store } = context;
  const element = html("div", { class: "gradviz-cards" });
  /** What of the cards is expanded, at every step. */
  const expanded: Expanded = { card: true, more: false };
  let shown = "";

  store.watch(["at", "timeline", "visible"], () => {
    const here = [...cursor.cards, ...cursor.notes];
    const caused = cursor.causedHere.filter(({ card }) => !here.includes(card));
    element.hidden = !here.length && !caused.length;
    const now = `${store.get("at")} ${store.get("visible")}`;
    if (now === shown && element.hasChildNodes()) return;
    shown = now;
    const sentence = element.parentElement?.querySelector<HTMLElement>(".gradviz-caption");
    refill(
      element,
      sentence ?? element,
      ...here.map((card, i) => makeCard(context, card, i, expanded)),
      ...caused.map(({ card }) => makeEffect(card)),
    );
  });
  linkTerms(context, element, cursor);
  return element;
}

function makeCard(
  context: PanelContext,
  card: ExplanationCard,
  number: number,
  expanded: Expanded,
): HTMLElement {
  const id = `${context.prefix}-card-${number}`;
  const body = html(
    "div",
    { class: "gradviz-card-body", id: `${id}-body`, hidden: !expanded.card },
    ...partElements(card.parts, context),
  );
  const more = body.querySelector("details");
  if (more) {
    more.open = expanded.more;
    more.addEventListener("toggle", () => {
      expanded.more = more.open;
    });
  }
  const fold = makeButton(context, {
    label: "Explanation",
    icon: "down",
    hint: "Show or hide the explanation",
    run: () => {
      body.hidden = !body.hidden;
      fold.setAttribute("aria-expanded", String(!body.hidden));
      expanded.card = !body.hidden;
    },
  });
  fold.classList.add("gradviz-fold");
  fold.setAttribute("aria-expanded", String(expanded.card));
  fold.setAttribute("aria-controls", body.id);
  const head = html(
    "div",
    { class: "gradviz-card-head" },
    ...(card.tone === "note" ? [] : [icon(card.tone === "error" ? "refused" : "error")]),
    html(
      "p",
      { class: "gradviz-card-title", id },
      // The caption says which error it is.
      ...(card.tone === "error"
        ? [html("strong", {}, card.kind)]
        : [html("strong", {}, card.title), ` · ${card.kind}`]),
    ),
    makeCopyButton(context, card.text, "Copy the explanation as text"),
    fold,
  );
  const props = { class: `gradviz-card is-${card.tone}`, role: "group", "aria-labelledby": id };
  return html("div", props, head, body);
}

function makeEffect(card: ExplanationCard): HTMLElement {
  const head = html(
    "div",
    { class: "gradviz-card-head" },
    html("span", { class: "gradviz-culprit" }, "! culprit"),
    html(
      "p",
      { class: "gradviz-card-title" },
      `This line is the culprit: ${card.title} · ${card.kind}`,
    ),
  );
  return html("div", { class: `gradviz-card is-${card.tone}` }, head);
}
