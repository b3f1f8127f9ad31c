// The timeline: a native slider, and under it ticks for events on the same scale. Where there are more
// steps than have room at full size, a window shows those around the current one, below all as a thin
// line.

import { claim, focusable, html } from "../lib/dom";
import type { Timeline } from "../model/timeline";
import type { PanelContext } from "../panel_context";
import { makeOverview } from "./overview";
import { makePhases } from "./phases";
import type { Playback } from "./playback";
import type { StepCursor } from "./step_cursor";
import { isTick, makeTick, orderOf, TICKS, type TickName } from "./ticks";
import { makeTurns } from "./turns";

const PAGE = 0.1;
/** Pixels of a step at full size, as in the style sheet. */
const FULL = 12;

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
  const phases = makePhases((place) => cursor.go(place));
  const overview = makeOverview(cursor);
  const scale = html(
    "div",
    { class: "gradviz-scale" },
    phases.element,
    input,
    turns.element,
    ticks,
  );
  const around = html("div", { class: "gradviz-around" }, scale);
  const element = html("div", { class: "gradviz-timeline" }, overview.element, around);

  /** The step in the middle of the window, where the thumb is not being dragged the current one. */
  let middle = 0;
  let held = false;
  const follow = () => {
    const { place, last } = cursor;
    // While it is dragged the window rests, but for what is beyond its edges.
    const half = held ? around.clientWidth / FULL / 2 : 0;
    middle = Math.max(place - half, Math.min(middle, place + half));
    // Not on what is around both: each tick would be styled anew at each step.
    for (const part of [around, scale]) {
      part.style.setProperty("--middle", String(last ? middle / last : 0));
    }
  };
  const hold = (on: boolean) => {
    held = on;
    follow();
  };
  input.addEventListener("pointerdown", () => hold(true));
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"] as const) {
    input.addEventListener(end, () => hold(false));
  }
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
    phases.draw(timeline, visible);
    const found = eventsOf(timeline, cursor);
    ticks.replaceChildren(...ticksOf(context, timeline, cursor, found));
    overview.draw(found.map(([place, [name]]) => [name as TickName, part(place, cursor)] as const));
  });
  store.watch(["at", "timeline", "visible"], () => {
    const timeline = store.get("timeline");
    if (!timeline) return;
    const { place } = cursor;
    input.value = String(place);
    input.setAttribute("aria-valuetext", [cursor.count, ...cursor.where].join(", "));
    overview.element.style.setProperty("--place", String(part(place, cursor)));
    follow();
    turns.mark(store.get("at"));
    phases.mark(place);
  });
  return element;
}

/** A place on the timeline, from 0 to 1. */
function part(place: number, { last }: StepCursor): number {
  return last ? place / last : 0;
}

/** What happened at places on the timeline, what matters most first. What a hidden sub-step has is at
 * the step that contains it. */
function eventsOf(
  timeline: Timeline,
  cursor: StepCursor,
): (readonly [number, readonly TickName[]])[] {
  const { visible } = cursor;
  const found = new Map<number, Set<TickName>>();
  const add = (index: number, name: string) => {
    if (!isTick(name)) return;
    const place = visible.findIndex((step) => step >= index);
    found.set(place, (found.get(place) ?? new Set()).add(name));
  };
  timeline.recording.views.forEach(({ tick, ticks = [] }, index) => {
    for (const name of [tick, ...ticks]) add(index, name);
  });
  for (const stop of timeline.recording.stops) add(stop, "stop");
  return [...found].map(([place, names]) => [place, orderOf(names)]);
}

function ticksOf(
  context: PanelContext,
  timeline: Timeline,
  cursor: StepCursor,
  events: readonly (readonly [number, readonly TickName[]])[],
): HTMLElement[] {
  return events.map(([place, names]) => {
    const tick = makeTick(names[0] as TickName);
    tick.style.setProperty("--at", String(part(place, cursor)));
    const name = timeline.nameOf(cursor.visible[place] ?? 0);
    const title = `step ${name}: ${names.map((name) => TICKS[name].word).join(", ")}`;
    context.tooltip.attach(tick, () => title);
    tick.addEventListener("click", () => cursor.go(place));
    return tick;
  });
}
