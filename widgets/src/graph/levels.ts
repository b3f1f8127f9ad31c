// How much of a folded graph is open at once: buttons of the toolbar, like those of the density.

import { makeButton } from "../lib/button";
import { html } from "../lib/dom";
import { type Level, openedAt } from "../model/fold_levels";
import type { PanelContext } from "../panel_context";
import type { FoldActions } from "./fold_actions";

export interface Levels {
  /** One of three, as a strip. */
  readonly element: HTMLElement;
  /** Folds all. */
  readonly none: HTMLElement;
}

const HINTS: Readonly<Record<Level, string>> = {
  first: "As it opens: few boxes",
  two: "Unfold two levels of modules",
  all: "Unfold all",
  none: "Fold everything to one box",
};

export function makeLevels(context: PanelContext, actions: FoldActions): Levels {
  const { store } = context;
  const make = (level: Level, words: string) => {
    const run = () => void actions.level(level);
    return makeButton(context, { label: words, words, hint: HINTS[level], run });
  };
  const shown = [
    { level: "first", button: make("first", "folded") },
    { level: "two", button: make("two", "depth 2") },
    { level: "all", button: make("all", "all") },
  ] as const;
  const props = { class: "gradviz-density", role: "radiogroup", "aria-label": "Unfolded" };
  const element = html("div", props);
  const none = make("none", "Fold all");
  for (const { button } of shown) button.setAttribute("role", "radio");
  store.watch(["unfolding"], () => {
    const now = store.get("unfolding");
    element.hidden = none.hidden = !now;
    element.replaceChildren(...(now ? shown.map(({ button }) => button) : []));
    if (!now) return;
    const nodes = now.folds.get(now.folds.top)?.nodes ?? 0;
    let isFound = false;
    for (const { level, button } of shown) {
      const { ids } = openedAt(now, level);
      const isAt: boolean =
        !isFound && ids.size === now.opened.size && [...ids].every((id) => now.opened.has(id));
      isFound ||= isAt;
      button.setAttribute("aria-checked", String(isAt));
      if (level !== "all") continue;
      const words = `all ${nodes.toLocaleString("en")}`;
      button.setAttribute("aria-label", words);
      button.replaceChildren(html("span", { class: "gradviz-words" }, words));
    }
  });
  return { element, none };
}
