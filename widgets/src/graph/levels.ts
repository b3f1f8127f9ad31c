// How much of a folded graph is open at once: buttons of the toolbar, like those of the density.

import { makeButton } from "../lib/button";
import { html, setProps } from "../lib/dom";
import { type Level, openedAt } from "../model/fold_levels";
import type { Unfolding } from "../model/folds";
import type { PanelContext } from "../panel_context";
import type { FoldActions } from "./fold_actions";

const HINTS: Readonly<Record<Level, string>> = {
  first: "As it opens: few boxes",
  two: "Unfold modules and repeats two levels deeper than at first",
  all: "Unfold all",
  none: "Fold everything to one box",
};

const NOTHING_DEEPER = "No module and no repeat is in the boxes that this opens with";

/** Three buttons, one of which is on; empty where nothing is folded. */
export function makeLevels(context: PanelContext, actions: FoldActions): HTMLElement {
  const { store } = context;
  const shown = [
    { level: "first", button: makeLevel(context, actions, "first", "folded") },
    { level: "two", button: makeLevel(context, actions, "two", "depth 2") },
    { level: "all", button: makeLevel(context, actions, "all", "all") },
  ] as const;
  const props = { class: "gradviz-density", role: "radiogroup", "aria-label": "Unfolded" };
  const element = html("div", props);
  for (const { button } of shown) button.setAttribute("role", "radio");
  store.watch(["unfolding"], () => {
    const now = store.get("unfolding");
    element.hidden = !now;
    element.replaceChildren(...(now ? shown.map(({ button }) => button) : []));
    if (!now) return;
    // Where two of them are the same, the first one is on.
    const at = shown.find(({ level }) => isAt(now, level));
    for (const { level, button } of shown) {
      setProps(button, {
        "aria-checked": String(level === at?.level),
        "aria-disabled": reasonAgainst(now, level) ? "true" : undefined,
      });
    }
    const nodes = now.folds.get(now.folds.top)?.nodes ?? 0;
    const words = `all ${nodes.toLocaleString("en")}`;
    const all = shown[2].button;
    all.setAttribute("aria-label", words);
    all.replaceChildren(html("span", { class: "gradviz-words" }, words));
  });
  return element;
}

export function makeFoldAll(context: PanelContext, actions: FoldActions): HTMLElement {
  const button = makeLevel(context, actions, "none", "Fold all");
  context.store.watch(["unfolding"], () => {
    button.hidden = !context.store.get("unfolding");
  });
  return button;
}

function makeLevel(context: PanelContext, actions: FoldActions, level: Level, words: string) {
  const reason = () => {
    const now = context.store.get("unfolding");
    return now ? reasonAgainst(now, level) : "";
  };
  const run = () => {
    if (reason()) context.announce(`${words}: ${reason()}`);
    else void actions.level(level);
  };
  return makeButton(context, { label: words, words, hint: () => reason() || HINTS[level], run });
}

/** Why a level is not offered, "" if it is. */
function reasonAgainst(now: Unfolding, level: Level): string {
  return level === "two" && openedAt(now, level).isFirst ? NOTHING_DEEPER : "";
}

function isAt(now: Unfolding, level: Level): boolean {
  const { ids } = openedAt(now, level);
  return ids.size === now.opened.size && [...ids].every((id) => now.opened.has(id));
}
