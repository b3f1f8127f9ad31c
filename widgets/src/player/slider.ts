// The timeline: a native slider, ticks for events, and above it the bytes that saved tensors keep at
// each step. All three share one scale.

import { claim, focusable, html, setProps, svg } from "../lib/dom";
import type { Timeline } from "../model/timeline";
import type { PanelContext } from "../panel_context";
import type { Playback } from "./playback";
import type { StepCursor } from "./step_cursor";
import { isDrawn, makeTick, orderOf, TICKS, type TickName } from "./ticks";

const PAGE = 0.1;
const HEIGHT = 26;

export function makeSlider(
  context: PanelContext,
  cursor: StepCursor,
  playback: Playback,
): HTMLElement {
  const { store } = context;
  const input = focusable(
    html("input", { type: "range", min: 0, step: 1, "aria-label": "Step", autocomplete: "off" }),
  );
  const memory = html("p", { class: "gradviz-memory" });
  const strip = svg("svg", { class: "gradviz-strip", role: "img" });
  const guide = svg("line", { class: "is-guide", y1: -2, y2: HEIGHT + 12 });
  const ticks = html("div", { class: "gradviz-ticks" });
  const element = html(
    "div",
    { class: "gradviz-timeline" },
    memory,
    html("div", { class: "gradviz-scale" }, strip, input, ticks),
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

  let bars: SVGElement[] = [];
  store.watch(["timeline", "detail"], () => {
    const timeline = store.get("timeline");
    if (!timeline) return;
    const { visible } = cursor;
    input.max = String(cursor.last);
    element.style.setProperty("--steps", String(visible.length));
    bars = barsOf(timeline, visible);
    strip.replaceChildren(guide, ...bars);
    ticks.replaceChildren(...ticksOf(context, timeline, cursor));
  });
  store.watch(["at", "timeline", "detail"], () => {
    const timeline = store.get("timeline");
    if (!timeline) return;
    const { place } = cursor;
    input.value = String(place);
    input.setAttribute("aria-valuetext", [cursor.count, ...cursor.where].join(", "));
    element.style.setProperty("--place", String(cursor.last ? place / cursor.last : 0));
    setProps(guide, {
      x1: `${percent(place, cursor.last)}%`,
      x2: `${percent(place, cursor.last)}%`,
    });
    bars.forEach((bar, i) => {
      bar.classList.toggle("is-current", i === place);
    });
    const said = memoryWords(timeline, store.get("at"));
    memory.replaceChildren(...said.flatMap((words) => [html("span", {}, words), " "]));
    strip.setAttribute("aria-label", `Bytes that saved tensors keep at each step: ${said[0]}`);
  });
  return element;
}

function barsOf(timeline: Timeline, visible: readonly number[]): SVGElement[] {
  const saved = visible.map((index) => timeline.view(index).saved);
  const most = Math.max(...saved, 1);
  return saved.map((bytes, place) => {
    const x = `${percent(place, visible.length - 1)}%`;
    const top = HEIGHT - (bytes ? Math.max(3, (bytes / most) * (HEIGHT - 2)) : 0);
    return svg("line", { x1: x, x2: x, y1: HEIGHT, y2: top });
  });
}

/** The bytes that saved tensors keep now and at most, and all tensors, where known. */
function memoryWords(timeline: Timeline, at: number): string[] {
  const { saved, memory } = timeline.view(at);
  const most = Math.max(...timeline.recording.views.map((view) => view.saved));
  const words = [`saved tensors keep ${size(saved)}`, `at most ${size(most)}`];
  return memory === null ? words : [...words, `all tensors ${size(memory)}`];
}

/** As Python writes sizes: "24 B", "48.8 KiB". */
export function size(bytes: number): string {
  if (bytes < 10_000) return `${bytes} B`;
  const power = bytes < 1024 ** 2 ? 1 : bytes < 1024 ** 3 ? 2 : 3;
  return `${(bytes / 1024 ** power).toFixed(1)} ${["", "KiB", "MiB", "GiB"][power]}`;
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
    const title = `step ${place}: ${sorted.map((name) => TICKS[name].word).join(", ")}`;
    context.tooltip.attach(tick, () => title);
    tick.addEventListener("click", () => cursor.go(place));
    return tick;
  });
}

function percent(place: number, last: number): number {
  return last ? Math.round((place / last) * 100_000) / 1000 : 0;
}
