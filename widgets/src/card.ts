// Why torch refused at this step, or why a gradient is wrong: what, why, the facts, the cures; and
// at the step of the culprit the way back.
import type { CardCure, CardField, CardWire } from "./card_wire";
import type { Context } from "./context";
import { focusable, html, icon } from "./dom";
import { tokensOf } from "./python";
import type { Steps } from "./steps";
import { makeButton } from "./toolbar";
import { linkWords, makeWords } from "./words";

export function makeCards(context: Context, steps: Steps): HTMLElement {
  const { store } = context;
  const element = html("div", { class: "gradviz-cards" });
  /** Whether cards show more than their headline, at every step. */
  let open = true;
  let shown = "";

  store.watch(["at", "timeline", "detail"], () => {
    const here = steps.cards;
    const caused = steps.causedHere.filter(({ card }) => !here.includes(card));
    element.hidden = !here.length && !caused.length;
    const now = `${store.get("at")} ${store.get("detail")}`;
    const hadFocus = element.contains(document.activeElement);
    if (now === shown && element.hasChildNodes()) return;
    shown = now;
    element.replaceChildren(
      ...here.map((card, i) => makeCard(context, steps, card, i, open, (on) => (open = on))),
      ...caused.map(({ card, step }) => makeWayBack(context, steps, card, step)),
    );
    if (hadFocus) goOn(element);
  });
  linkWords(context, element, steps);
  return element;
}

/** The way from the sentence to the cards, which stand below so that the graph never moves. */
export function makeWayDown(context: Context, steps: Steps, cards: HTMLElement): HTMLElement {
  const run = () => {
    cards.scrollIntoView?.({ block: "nearest" });
    cards.querySelector<HTMLElement>("button")?.focus({ preventScroll: true });
  };
  const hint = "To the explanation below: why, who did it, and what to write instead";
  const button = makeButton(context, { label: "Why?", icon: "down", hint, run });
  button.append("Why?");
  button.classList.add("gradviz-why");
  context.store.watch(["at", "timeline", "detail"], () => {
    const hadFocus = document.activeElement === button;
    button.hidden = !steps.cards.length;
    if (hadFocus && button.hidden) button.closest<HTMLElement>(".gradviz-caption")?.focus();
  });
  return button;
}

/** Where the focus goes when its card is no more: to the way back, else to the sentence. */
function goOn(element: HTMLElement): void {
  const sentence = element.parentElement?.querySelector<HTMLElement>(".gradviz-caption");
  (element.querySelector<HTMLElement>(".gradviz-card-go") ?? sentence)?.focus();
}

function makeCard(
  context: Context,
  steps: Steps,
  card: CardWire,
  number: number,
  open: boolean,
  opened: (on: boolean) => void,
): HTMLElement {
  const id = `${context.prefix}-card-${number}`;
  const body = html(
    "div",
    { class: "gradviz-card-body", id: `${id}-body`, hidden: !open },
    makeStory(context, card),
    html("dl", { class: "gradviz-card-facts" }, ...card.fields.map(makeField)),
  );
  const fold = makeButton(context, {
    label: "Explanation",
    icon: "down",
    hint: "Show or hide the explanation",
    run: () => {
      body.hidden = !body.hidden;
      fold.setAttribute("aria-expanded", String(!body.hidden));
      opened(!body.hidden);
    },
  });
  fold.classList.add("gradviz-fold");
  fold.setAttribute("aria-expanded", String(open));
  fold.setAttribute("aria-controls", body.id);
  const head = html(
    "div",
    { class: "gradviz-card-head" },
    fold,
    icon(card.tone === "error" ? "refused" : "error"),
    html(
      "p",
      { class: "gradviz-card-title", id },
      html("strong", {}, card.title),
      ` · ${card.kind}`,
    ),
    makeCopyButton(context, card.text, "Copy the explanation as text"),
  );
  const line = card.culprit_line ? `: line ${card.culprit_line.line}` : "";
  const { culprit_step } = card;
  if (culprit_step !== null && !steps.causedHere.some((caused) => caused.card === card)) {
    const hint = "To the step at which it ran";
    head.append(makeGo(context, `Go to the culprit${line}`, hint, () => steps.jump(culprit_step)));
  }
  const props = { class: `gradviz-card is-${card.tone}`, role: "group", "aria-labelledby": id };
  return html("div", props, head, body);
}

function makeWayBack(context: Context, steps: Steps, card: CardWire, step: number): HTMLElement {
  const what = card.tone === "error" ? "the error" : "where it takes effect";
  const words = `This line is the culprit of: ${card.title} · ${card.kind}`;
  const head = html(
    "div",
    { class: "gradviz-card-head" },
    html("span", { class: "gradviz-culprit" }, "! culprit"),
    html("p", { class: "gradviz-card-title" }, words),
    makeGo(context, `Go to ${what}`, "To the step with the explanation", () => steps.jump(step)),
  );
  return html("div", { class: `gradviz-card is-${card.tone}` }, head);
}

function makeGo(context: Context, label: string, hint: string, run: () => void): HTMLButtonElement {
  const button = makeButton(context, { label, hint, run });
  button.append(label);
  button.classList.add("gradviz-card-go");
  return button;
}

function makeStory(context: Context, card: CardWire): HTMLElement {
  const story = html("div", { class: "gradviz-card-story" });
  story.append(html("p", { class: "gradviz-card-what" }, ...makeWords(card.what)));
  if (card.why.length) story.append(html("p", {}, ...makeWords(card.why)));
  card.cures.forEach((cure, i) => {
    const name = card.cures.length > 1 ? `Cure ${i + 1}` : "Cure";
    story.append(makeCure(context, cure, name));
  });
  return story;
}

function makeCure(context: Context, cure: CardCure, name: string): HTMLElement {
  const does = html("p", {}, html("strong", {}, `${name}: `), cure.does);
  const element = html("div", { class: "gradviz-cure" }, does);
  cure.changes.forEach(({ where, code }, i) => {
    const place = makeWords(where);
    if (where.length) element.append(html("p", { class: "is-quiet" }, ...place, code ? ":" : ""));
    if (!code) return;
    const block = focusable(html("pre", { "aria-label": `${name} as code`, role: "group" }), 0);
    block.append(html("code", {}, ...coloured(code)));
    const part = cure.changes.length > 1 ? `, change ${i + 1}` : "";
    const copy = makeCopyButton(context, code, `Copy ${name.toLowerCase()}${part}`, block);
    element.append(html("div", { class: "gradviz-code-block" }, block, copy));
  });
  return element;
}

function coloured(code: string): (Node | string)[] {
  const lines = code
    .split("\n")
    .map((line) =>
      tokensOf(line).map(({ kind, text }) =>
        kind ? html("span", { class: `gradviz-py-${kind}` }, text) : text,
      ),
    );
  return lines.flatMap((line, i) => (i ? ["\n", ...line] : line));
}

function makeCopyButton(
  context: Context,
  text: string,
  label: string,
  source?: HTMLElement,
): HTMLButtonElement {
  const run = async () => {
    try {
      await navigator.clipboard.writeText(text);
      context.announce("copied");
    } catch {
      // Without the right to write to the clipboard the reader can still copy by hand.
      if (source) getSelection()?.selectAllChildren(source);
      context.announce(
        source ? "not allowed to copy; the code is selected" : "not allowed to copy",
      );
    }
  };
  return makeButton(context, { label, icon: "copy", run: () => void run() });
}

function makeField(field: CardField): HTMLElement {
  const values = field.values.map((segments, i) => {
    const code = i === 0 && field.code ? [" ", html("code", {}, field.code)] : [];
    return html("dd", {}, ...makeWords(segments), ...code);
  });
  return html("div", {}, html("dt", {}, field.name), ...values);
}
