// The meaning of the marks that are visible now.

import { html } from "../lib/dom";
import type { Timeline } from "../model/timeline";
import type { PanelContext } from "../panel_context";
import { isDrawn, makeTick, TICKS, type TickName } from "../player/ticks";
import { drawnAs, makeSwatch } from "./swatch";

/** `draws` says whether the picture has an element of a class at this step. */
export function makeLegend({ store }: PanelContext, draws: (name: string) => boolean): HTMLElement {
  const list = html("ul");
  const element = html("div", { class: "gradviz-legend" }, list);
  store.watch(["content", "visible", "panel"], () => {
    if (store.get("panel") !== "legend") return;
    const timeline = store.get("timeline");
    const entries = store
      .get("wire")
      .legend.filter((entry) => draws(drawnAs(entry.class)))
      .map((entry) => html("li", {}, makeSwatch(entry.class), entry.label));
    list.replaceChildren(...entries, ...(timeline ? ofSteps(timeline, store.get("visible")) : []));
  });
  store.watch(["engine_arrows"], () => {
    list.classList.toggle("gv-engine", store.get("engine_arrows"));
  });
  return element;
}

/** The marks on the timeline. */
function ofSteps(timeline: Timeline, { length }: readonly number[]): HTMLElement[] {
  const { recording } = timeline;
  const used = new Set<string>(recording.views.flatMap(({ tick, ticks = [] }) => [tick, ...ticks]));
  if (recording.stops.length) used.add("stop");
  const names = (Object.keys(TICKS) as TickName[]).filter(
    (name) => used.has(name) && isDrawn(name, length),
  );
  const ticks = names.map((name) => html("li", {}, makeTick(name), TICKS[name].word));
  if (!recording.views.some(({ saved }) => saved)) return ticks;
  const bar = html("span", { class: "gradviz-bar-swatch", "aria-hidden": "true" });
  return [...ticks, html("li", {}, bar, "bytes that saved tensors keep, per step")];
}
