// Of a graph that is too large to be drawn whole: which part is drawn, and how to see another one.

import type { Extent } from "../documents/graph";
import { html } from "../lib/dom";
import type { Store } from "../model/store";
import type { PanelContext } from "../panel_context";

/** What a person types to see a node and those near it. */
export function callOf({ subject }: Extent, id: string): string {
  return `gradviz.show(${subject}, focus="${id}")`;
}

/** Whether the kernel can draw another part of this graph. */
export function canDraw(store: Store): boolean {
  return store.get("focus") !== undefined && store.kernel.isThere;
}

/** Asks the kernel for the part around a node that is not drawn. */
export function drawAround({ store, announce }: PanelContext, id: string): void {
  const item = store.get("content").items.find((known) => known.id === id);
  if (item?.is_drawn !== false || !canDraw(store)) return;
  announce(`draws ${item.label} and the nodes near it`);
  store.set("focus", id);
}

/** The line below the picture; hidden where all is drawn. */
export function makeExtent({ store }: PanelContext): HTMLElement {
  const element = html("p", { class: "gradviz-extent", role: "note" });
  store.watch(["wire"], () => {
    const { extent } = store.get("wire");
    element.hidden = !extent;
    if (!extent) return;
    const { words, example } = extent;
    const call = example ? [" To draw others: ", html("code", {}, callOf(extent, example))] : [];
    element.replaceChildren(words, ...call);
  });
  return element;
}
