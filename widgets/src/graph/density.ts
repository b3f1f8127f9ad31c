// How much cards say: three radio buttons of the toolbar, and the key that goes through them.

import { DENSITIES, type Density } from "../documents/graph";
import { isDrawnIn } from "../documents/pictures";
import { makeButton } from "../lib/button";
import { html, setProps } from "../lib/dom";
import type { Store } from "../model/store";
import type { PanelContext } from "../panel_context";

const HINTS: Record<Density, string> = {
  compact: "Names, .grad, and what is wrong; the current card is unfolded (d)",
  normal: "What is needed to follow a gradient: line, derivative, saved tensors, .grad (d)",
  full: "Everything that is known (d)",
};

const TOO_MANY = "Not drawn: this picture has more than 150 cards";
const TOO_LARGE = "Not in this document, whose graph has too many nodes for all three";

/** Goes to the next density that the document has. */
export function nextDensity(store: Store): Density {
  const there = DENSITIES.filter((density) => isDrawnIn(store.get("wire"), density));
  const next = there[(there.indexOf(store.get("drawn")) + 1) % there.length];
  return next ?? store.get("drawn");
}

export function showDensity({ store, announce }: PanelContext, density: Density): void {
  if (!isDrawnIn(store.get("wire"), density)) {
    announce(`${density}: not drawn, this graph is too large`);
    return;
  }
  store.set("density", density);
  announce(`cards: ${density}`);
}

export function makeDensityControl(context: PanelContext): HTMLElement {
  const { store } = context;
  const there = (density: Density) => isDrawnIn(store.get("wire"), density);
  const buttons = DENSITIES.map((density) => {
    const button = makeButton(context, {
      label: density,
      words: density,
      hint: () => (there(density) ? HINTS[density] : store.get("wire").fold ? TOO_LARGE : TOO_MANY),
      run: () => showDensity(context, density),
    });
    button.setAttribute("role", "radio");
    return { density, button };
  });
  const props = { class: "gradviz-density", role: "radiogroup", "aria-label": "Cards" };
  const element = html("div", props, ...buttons.map(({ button }) => button));
  store.watch(["wire", "drawn"], () => {
    element.hidden = !Object.keys(store.get("wire").pictures).length;
    for (const { density, button } of buttons) {
      setProps(button, {
        "aria-checked": String(store.get("drawn") === density),
        "aria-disabled": there(density) ? undefined : "true",
      });
    }
  });
  return element;
}
