// The meaning of the marks that are visible now.

import { html } from "../lib/dom";
import type { Timeline } from "../model/timeline";
import type { PanelContext } from "../panel_context";
import { makeTick, TICKS, type TickName } from "../player/ticks";
import { drawnAs, makeSwatch } from "./swatch";

/** What the boxes of a folded graph are, by the class of what shows it, and those of its sample. */
const OF_FOLDS: readonly (readonly [drawn: string, sample: string, words: string])[] = [
  ["gv-fold", "gv-fold", "+ a box that stands for many nodes: a click unfolds it"],
  ["gv-open", "gv-open gv-fold", "− an unfolded box: a click on its header folds it"],
  ["gv-stack", "gv-stack gv-fold", "×N: one box for N parts of equal structure"],
  ["gv-unmade", "gv-unmade gv-fold", "dotted: no node of it is made yet"],
];

/** `draws` says whether the picture has an element of a class at this step. */
export function makeLegend({ store }: PanelContext, draws: (name: string) => boolean): HTMLElement {
  const list = html("ul");
  const element = html("div", { class: "gradviz-legend" }, list);
  store.watch(["content", "visible", "panel", "unfolding"], () => {
    if (store.get("panel") !== "legend") return;
    const timeline = store.get("timeline");
    const entries = store
      .get("wire")
      .legend.filter((entry) => draws(drawnAs(entry.class)))
      .map((entry) => html("li", {}, makeSwatch(entry.class), entry.label));
    const folds = OF_FOLDS.filter(([drawn]) => store.get("unfolding") && draws(drawn)).map(
      ([, sample, words]) => html("li", {}, makeSwatch(sample), words),
    );
    list.replaceChildren(...entries, ...folds, ...(timeline ? ofSteps(timeline) : []));
  });
  store.watch(["engine_arrows"], () => {
    list.classList.toggle("gv-engine", store.get("engine_arrows"));
  });
  return element;
}

/** The marks on the timeline. */
function ofSteps(timeline: Timeline): HTMLElement[] {
  const { recording } = timeline;
  const used = new Set<string>(recording.views.flatMap(({ tick, ticks = [] }) => [tick, ...ticks]));
  if (recording.stops.length) used.add("stop");
  const names = (Object.keys(TICKS) as TickName[]).filter((name) => used.has(name));
  const ticks = names.map((name) => html("li", {}, makeTick(name), TICKS[name].word));
  if (!recording.views.some(({ saved }) => saved)) return ticks;
  const bar = html("span", { class: "gradviz-bar-swatch", "aria-hidden": "true" });
  return [...ticks, html("li", {}, bar, "bytes that saved tensors keep, per step")];
}
