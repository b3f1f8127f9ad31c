// The cards of a step: why torch raised or a gradient is wrong, the facts and the fixes. At the step
// of the culprit: what it is the culprit of.

import type { CardField, CardFix, ExplanationCard } from "../documents/explanation";
import { makeButton } from "../lib/button";
import { focusable, html } from "../lib/dom";
import { icon } from "../lib/icons";
import { codeElements } from "../lib/python_code";
import type { PanelContext } from "../panel_context";
import { linkTerms, richText } from "../player/rich_text";
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
    const hadFocus = element.contains(document.activeElement);
    if (now === shown && element.hasChildNodes()) return;
    shown = now;
    element.replaceChildren(
      ...here.map((card, i) => makeCard(context, card, i, expanded)),
      ...caused.map(({ card }) => makeEffect(card)),
    );
    // The focus of a removed card goes to the sentence.
    if (hadFocus) element.parentElement?.querySelector<HTMLElement>(".gradviz-caption")?.focus();
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
    ...makeReasons(context, card, expanded),
  );
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
      html("strong", {}, card.title),
      ` · ${card.kind}`,
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

/** What happened, the culprit, the first fix; the rest is folded. */
function makeReasons(
  context: PanelContext,
  card: ExplanationCard,
  expanded: Expanded,
): HTMLElement[] {
  const label = card.tone === "note" ? "If not meant" : "Fix";
  const fixes = card.fixes.map((fix, i) =>
    makeFix(context, fix, card.fixes.length > 1 ? `${label} ${i + 1}` : label),
  );
  const more = html("details", { class: "gradviz-card-more" });
  more.open = expanded.more;
  more.addEventListener("toggle", () => (expanded.more = more.open));
  more.append(html("summary", { class: "is-quiet" }, "more"));
  more.append(...fixes.slice(1));
  if (card.why.length) more.append(html("p", {}, ...richText(card.why)));
  more.append(makeFacts(card.fields));
  return [
    html("p", { class: "gradviz-card-what" }, ...richText(card.what)),
    makeFacts(card.first),
    ...fixes.slice(0, 1),
    more,
  ];
}

function makeFacts(fields: readonly CardField[]): HTMLElement {
  return html("dl", { class: "gradviz-card-facts" }, ...fields.map(makeField));
}

function makeFix(context: PanelContext, fix: CardFix, name: string): HTMLElement {
  const does = html("p", {}, html("strong", {}, `${name}: `), fix.does);
  const element = html("div", { class: "gradviz-fix" }, does);
  fix.changes.forEach(({ where, code }, i) => {
    const place = richText(where);
    if (where.length) element.append(html("p", { class: "is-quiet" }, ...place, code ? ":" : ""));
    if (!code) return;
    const block = focusable(html("pre", { "aria-label": `${name} as code`, role: "group" }), 0);
    block.append(html("code", {}, ...coloured(code)));
    const part = fix.changes.length > 1 ? `, change ${i + 1}` : "";
    const copy = makeCopyButton(context, code, `Copy ${name.toLowerCase()}${part}`, block);
    element.append(html("div", { class: "gradviz-code-block" }, block, copy));
  });
  return element;
}

function coloured(code: string): (Node | string)[] {
  return code.split("\n").flatMap((line, i) => [...(i ? ["\n"] : []), ...codeElements(line)]);
}

function makeCopyButton(
  context: PanelContext,
  text: string,
  label: string,
  source?: HTMLElement,
): HTMLButtonElement {
  const run = async () => {
    try {
      await navigator.clipboard.writeText(text);
      context.announce("copied");
    } catch {
      // Where the clipboard is not allowed, the code is selected to be copied by hand.
      if (source) getSelection()?.selectAllChildren(source);
      context.announce(
        source
          ? "the browser does not allow copying; the code is selected"
          : "the browser does not allow copying",
      );
    }
  };
  return makeButton(context, { label, icon: "copy", run: () => void run() });
}

function makeField(field: CardField): HTMLElement {
  const values = field.values.map((segments, i) => {
    const code = i === 0 && field.code ? [" ", html("code", {}, field.code)] : [];
    return html("dd", {}, ...richText(segments), ...code);
  });
  return html("div", {}, html("dt", {}, field.name), ...values);
}
