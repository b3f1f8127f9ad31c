// The timeline: a native slider, and under it ticks for events on the same scale.

import { claim, focusable, html } from "../lib/dom";
import type { Timeline } from "../model/timeline";
import type { PanelContext } from "../panel_context";
import type { Playback } from "./playback";
import type { StepCursor } from "./step_cursor";
import { isDrawn, makeTick, orderOf, TICKS, type TickName } from "./ticks";
import { makeTurns } from "./turns";

const PAGE = 0.1;

export function makeSlider(
  context: PanelContext,
  cursor: StepCursor,
  playback: Playback,
): HTMLElement {
  const { store } = context;
  const input = focusable(
    html("input", { type: "range", min: 0, step: 1, "aria-label": "Step", autocomplete: "off" }),
  );
  const ticks = html("div", { class: "gradviz-ticks" });
  const turns = makeTurns();
  const element = html(
    "div",
    { class: "gradviz-timeline" },
    html("div", { class: "gradviz-scale" }, input, turns.element, ticks),
  );

  input.addEventListener("input", () => cursor.go(Number(input.value)));
  input.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(2, Math.round(cursor.last * PAGE));
    const goal = {
      ArrowLeft: cursor.place - 1,
      ArrowDown: cursor.place - 1,
      ArrowRight: cursor.place + 1,
      ArrowUp: cursor.place + 1,
      PageDown: cursor.place - page,
      PageUp: cursor.place + page,
      Home: 0,
      End: cursor.last,
    }[event.key];
    if (goal === undefined && event.key !== " ") return;
    claim(event);
    if (goal !== undefined) cursor.go(goal);
    else if (playback.allowed()) playback.toggle();
    else cursor.go(cursor.place + 1);
  });

  store.watch(["timeline", "visible"], () => {
    const timeline = store.get("timeline");
    if (!timeline) return;
    const { visible } = cursor;
    input.max = String(cursor.last);
    element.style.setProperty("--steps", String(visible.length));
    turns.draw(timeline, visible);
    ticks.replaceChildren(...ticksOf(context, timeline, cursor));
  });
  store.watch(["at", "timeline", "visible"], () => {
    const timeline = store.get("timeline");
    if (!timeline) return;
    const { place } = cursor;
    input.value = String(place);
    input.setAttribute("aria-valuetext", [cursor.count, ...cursor.where].join(", "));
    element.style.setProperty("--place", String(cursor.last ? place / cursor.last : 0));
    turns.mark(store.get("at"));
  });
  return element;
}

/** A tick of a hidden sub-step is placed at the step that contains it. */
function ticksOf(context: PanelContext, timeline: Timeline, cursor: StepCursor): HTMLElement[] {
  const { visible } = cursor;
  const found = new Map<number, Set<TickName>>();
  const add = (index: number, name: string) => {
    if (!isDrawn(name, visible.length)) return;
    const place = visible.findIndex((step) => step >= index);
    found.set(place, (found.get(place) ?? new Set()).add(name));
  };
  timeline.recording.views.forEach(({ tick, ticks = [] }, index) => {
    for (const name of [tick, ...ticks]) add(index, name);
  });
  for (const stop of timeline.recording.stops) add(stop, "stop");
  return [...found].map(([place, names]) => {
    const sorted = orderOf(names);
    const tick = makeTick(sorted[0] as TickName);
    tick.style.setProperty("--at", String(cursor.last ? place / cursor.last : 0));
    const name = timeline.nameOf(visible[place] ?? 0);
    const title = `step ${name}: ${sorted.map((name) => TICKS[name].word).join(", ")}`;
    context.tooltip.attach(tick, () => title);
    tick.addEventListener("click", () => cursor.go(place));
    return tick;
  });
}
