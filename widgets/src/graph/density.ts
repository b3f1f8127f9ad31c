// How much cards say: a radio button in the toolbar for each density that the document has, and the
// key that goes through them.

import { DENSITIES, type Density } from "../documents/graph";
import { isDrawnIn } from "../documents/pictures";
import { makeButton } from "../lib/button";
import { html, refill, setProps } from "../lib/dom";
import type { Store } from "../model/store";
import type { PanelContext } from "../panel_context";

const HINTS: Record<Density, string> = {
  compact: "Names, .grad, and what is wrong; the chosen card is unfolded (d)",
  normal: "What is needed to follow a gradient: line, derivative, saved tensors, .grad (d)",
  full: "Everything that is known (d)",
};

/** Goes to the next density that the document has. */
export function nextDensity(store: Store): Density {
  const there = DENSITIES.filter((density) => isDrawnIn(store.get("wire"), density));
  const next = there[(there.indexOf(store.get("drawn")) + 1) % there.length];
  return next ?? store.get("drawn");
}

export function showDensity({ store, announce }: PanelContext, density: Density): void {
  store.set("density", density);
  announce(`cards: ${density}`);
}

export function makeDensityControl(context: PanelContext): HTMLElement {
  const { store } = context;
  const buttons = DENSITIES.map((density) => {
    const button = makeButton(context, {
      label: density,
      words: density,
      hint: HINTS[density],
      run: () => showDensity(context, density),
    });
    button.setAttribute("role", "radio");
    return { density, button };
  });
  const element = html("div", {
    class: "gradviz-density",
    role: "radiogroup",
    "aria-label": "Cards",
  });
  store.watch(["wire"], () => {
    const there = buttons.filter(({ density }) => isDrawnIn(store.get("wire"), density));
    refill(element, element, ...there.map(({ button }) => button));
    element.hidden = there.length === 0;
  });
  store.watch(["drawn"], () => {
    for (const { density, button } of buttons) {
      setProps(button, { "aria-checked": String(store.get("drawn") === density) });
    }
  });
  return element;
}
