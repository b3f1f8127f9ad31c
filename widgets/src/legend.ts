// What the marks of this picture mean; only marks that it contains.
import type { Context } from "./context";
import { focusable, html } from "./dom";
import { makeSwatch } from "./swatch";
import { isDrawn, makeTick, TICKS, type TickName } from "./ticks";
import type { Timeline } from "./timeline";

export function makeLegend({ store }: Context): HTMLElement {
  const list = html("ul");
  const summary = focusable(html("summary", {}, "Legend"));
  const element = html("details", { class: "gradviz-legend", open: true }, summary, list);
  store.watch(["wire", "detail"], () => {
    const { legend } = store.get("wire");
    const timeline = store.get("timeline");
    element.hidden = !legend.length && !timeline;
    const entries = legend.map((entry) => html("li", {}, makeSwatch(entry.class), entry.label));
    list.replaceChildren(...entries, ...(timeline ? ofSteps(timeline, store.get("detail")) : []));
  });
  store.watch(["engine_arrows"], () => {
    list.classList.toggle("gv-engine", store.get("engine_arrows"));
  });
  return element;
}

/** The marks on the time line. */
function ofSteps(timeline: Timeline, detail: boolean): HTMLElement[] {
  const { wire } = timeline;
  const { length } = timeline.visible(detail);
  const used = new Set<string>(wire.views.flatMap(({ tick, ticks = [] }) => [tick, ...ticks]));
  if (wire.stops.length) used.add("stop");
  const names = (Object.keys(TICKS) as TickName[]).filter(
    (name) => used.has(name) && isDrawn(name, length),
  );
  const ticks = names.map((name) => html("li", {}, makeTick(name), TICKS[name].word));
  if (!wire.views.some(({ saved }) => saved)) return ticks;
  const bar = html("span", { class: "gradviz-bar-swatch", "aria-hidden": "true" });
  return [...ticks, html("li", {}, bar, "bytes that saved tensors keep, per step")];
}
