// The time line: a native slider, ticks for what happened, and above it how much memory saved
// tensors hold at each step. All three share one scale.
import type { Context } from "./context";
import { focusable, html, setProps, svg, take } from "./dom";
import type { Playing } from "./play";
import type { Steps } from "./steps";
import { isDrawn, makeTick, orderOf, TICKS, type TickName } from "./ticks";
import type { Timeline } from "./timeline";

const PAGE = 0.1;
const HEIGHT = 26;

export function makeSlider(context: Context, steps: Steps, playing: Playing): HTMLElement {
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

  input.addEventListener("input", () => steps.take(Number(input.value)));
  input.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(2, Math.round(steps.last * PAGE));
    const goal = {
      ArrowLeft: steps.place - 1,
      ArrowDown: steps.place - 1,
      ArrowRight: steps.place + 1,
      ArrowUp: steps.place + 1,
      PageDown: steps.place - page,
      PageUp: steps.place + page,
      Home: 0,
      End: steps.last,
    }[event.key];
    if (goal === undefined && event.key !== " ") return;
    take(event);
    if (goal !== undefined) steps.take(goal);
    else if (playing.allowed()) playing.toggle();
    else steps.take(steps.place + 1);
  });

  let bars: SVGElement[] = [];
  store.watch(["timeline", "detail"], () => {
    const timeline = store.get("timeline");
    if (!timeline) return;
    const { visible } = steps;
    input.max = String(steps.last);
    element.style.setProperty("--steps", String(visible.length));
    bars = barsOf(timeline, visible);
    strip.replaceChildren(guide, ...bars);
    ticks.replaceChildren(...ticksOf(context, timeline, steps));
  });
  store.watch(["at", "timeline", "detail"], () => {
    const timeline = store.get("timeline");
    if (!timeline) return;
    const { place } = steps;
    input.value = String(place);
    input.setAttribute("aria-valuetext", [steps.count, ...steps.where].join(", "));
    element.style.setProperty("--place", String(steps.last ? place / steps.last : 0));
    setProps(guide, { x1: `${percent(place, steps.last)}%`, x2: `${percent(place, steps.last)}%` });
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

/** What saved tensors hold now and at most, and what else is known of memory. */
function memoryWords(timeline: Timeline, at: number): string[] {
  const { saved, memory } = timeline.view(at);
  const most = Math.max(...timeline.wire.views.map((view) => view.saved));
  const words = [`saved tensors keep ${size(saved)}`, `at most ${size(most)}`];
  return memory === null ? words : [...words, `all tensors ${size(memory)}`];
}

/** As Python writes sizes: "24 B", "48.8 KiB". */
export function size(bytes: number): string {
  if (bytes < 10_000) return `${bytes} B`;
  const power = bytes < 1024 ** 2 ? 1 : bytes < 1024 ** 3 ? 2 : 3;
  return `${(bytes / 1024 ** power).toFixed(1)} ${["", "KiB", "MiB", "GiB"][power]}`;
}

/** Ticks of steps that are hidden stand at the step they are a part of. */
function ticksOf(context: Context, timeline: Timeline, steps: Steps): HTMLElement[] {
  const { visible } = steps;
  const found = new Map<number, Set<TickName>>();
  const add = (index: number, name: string) => {
    if (!isDrawn(name, visible.length)) return;
    const place = visible.findIndex((step) => step >= index);
    found.set(place, (found.get(place) ?? new Set()).add(name));
  };
  timeline.wire.views.forEach(({ tick, ticks = [] }, index) => {
    for (const name of [tick, ...ticks]) add(index, name);
  });
  for (const stop of timeline.wire.stops) add(stop, "stop");
  return [...found].map(([place, names]) => {
    const sorted = orderOf(names);
    const tick = makeTick(sorted[0] as TickName);
    tick.style.setProperty("--at", String(steps.last ? place / steps.last : 0));
    const title = `step ${place}: ${sorted.map((name) => TICKS[name].word).join(", ")}`;
    context.tooltip.attach(tick, () => title);
    tick.addEventListener("click", () => steps.take(place));
    return tick;
  });
}

function percent(place: number, last: number): number {
  return last ? Math.round((place / last) * 100_000) / 1000 : 0;
}
