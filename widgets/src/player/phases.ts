// The parts of training above the timeline, in words: forward, backward, the step of an optimizer.

import { html } from "../lib/dom";
import type { Timeline } from "../model/timeline";
import { percent } from "./ticks";

export function makePhases(go: (place: number) => void) {
  const element = html("div", { class: "gradviz-phases", "aria-hidden": "true" });
  let drawn: (readonly [number, HTMLElement])[] = [];
  /** Draws the parts anew for these steps, each from half a step before its first. */
  const draw = (timeline: Timeline, visible: readonly number[]) => {
    const end = visible.length - 1;
    const phase = (place: number) => timeline.view(visible[place] ?? 0).phase;
    const firsts = visible.flatMap((_, place) =>
      place === 0 || phase(place) !== phase(place - 1) ? place : [],
    );
    drawn = firsts.map((first, i) => {
      const [from, to] = [first, firsts[i + 1] ?? end + 1].map((place) =>
        percent(Math.max(0, Math.min(end, place - 0.5)), end),
      ) as [number, number];
      const part = html("div", {}, html("span", {}, phase(first)));
      part.style.left = `${from}%`;
      part.style.width = `${to - from}%`;
      part.addEventListener("click", () => go(first));
      return [first, part];
    });
    element.replaceChildren(...drawn.map(([, part]) => part));
  };
  /** Marks the part that a place belongs to. */
  const mark = (place: number) => {
    const current = drawn.findLast(([first]) => first <= place);
    for (const one of drawn) one[1].classList.toggle("is-current", one === current);
  };
  return { element, draw, mark };
}
