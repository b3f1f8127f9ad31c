// The bytes that saved tensors keep at each step: in words, and as one bar per step.

import { html, setProps, svg } from "../lib/dom";
import type { Timeline } from "../model/timeline";
import type { PanelContext } from "../panel_context";
import type { StepCursor } from "./step_cursor";
import { percent } from "./ticks";

const HEIGHT = 64;

export function makeMemory({ store }: PanelContext, cursor: StepCursor): HTMLElement {
  const words = html("p", { class: "gradviz-memory" });
  const strip = svg("svg", { class: "gradviz-strip", role: "img" });
  const guide = svg("line", { class: "is-guide", y1: 0, y2: HEIGHT });
  const element = html("div", { class: "gradviz-memory-panel" }, words);
  element.append(html("div", { class: "gradviz-scale" }, strip));

  let bars: SVGElement[] = [];
  store.watch(["timeline", "visible"], () => {
    const timeline = store.get("timeline");
    if (!timeline) return;
    const { visible } = cursor;
    element.style.setProperty("--steps", String(visible.length));
    bars = barsOf(timeline, visible);
    strip.replaceChildren(guide, ...bars);
  });
  store.watch(["at", "timeline", "visible"], () => {
    const timeline = store.get("timeline");
    if (!timeline) return;
    const { place } = cursor;
    const x = `${percent(place, cursor.last)}%`;
    setProps(guide, { x1: x, x2: x });
    bars.forEach((bar, i) => {
      bar.classList.toggle("is-current", i === place);
    });
    const said = memoryWords(timeline, store.get("at"));
    words.replaceChildren(...said.flatMap((part) => [html("span", {}, part), " "]));
    strip.setAttribute("aria-label", `Bytes that saved tensors keep at each step: ${said[0]}`);
  });
  return element;
}

/** Whether any step keeps something. */
export function keepsMemory(timeline: Timeline | undefined): boolean {
  return timeline?.recording.views.some(({ saved }) => saved > 0) ?? false;
}

function barsOf(timeline: Timeline, visible: readonly number[]): SVGElement[] {
  const saved = visible.map((index) => timeline.view(index).saved);
  const most = Math.max(...saved, 1);
  return saved.map((bytes, place) => {
    const x = `${percent(place, visible.length - 1)}%`;
    const top = HEIGHT - (bytes ? Math.max(3, (bytes / most) * (HEIGHT - 4)) : 0);
    return svg("line", { x1: x, x2: x, y1: HEIGHT, y2: top });
  });
}

/** The bytes that saved tensors keep now and at most, and all tensors, where known. */
function memoryWords(timeline: Timeline, at: number): string[] {
  const { saved, memory } = timeline.view(at);
  const { of } = timeline.recording;
  const most = Math.max(...timeline.recording.views.map((view) => view.saved));
  const words = [`saved tensors keep ${size(saved)}`, ...(of ? [] : [`at most ${size(most)}`])];
  return memory === null ? words : [...words, `all tensors ${size(memory)}`];
}

/** As Python writes sizes: "24 B", "48.8 KiB". */
export function size(bytes: number): string {
  if (bytes < 10_000) return `${bytes} B`;
  const power = bytes < 1024 ** 2 ? 1 : bytes < 1024 ** 3 ? 2 : 3;
  return `${(bytes / 1024 ** power).toFixed(1)} ${["", "KiB", "MiB", "GiB"][power]}`;
}
