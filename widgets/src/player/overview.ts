// All steps as a thin line above a timeline that is too long to be seen whole: where the current step
// is, and what is rare. It leads to a step by pointer; for keys and screen readers there is the slider.
import { html } from "../lib/dom";
import type { StepCursor } from "./step_cursor";
import type { TickName } from "./ticks";

/** Places of the line; marks of a kind at the same place are one. */
const PLACES = 200;

export function makeOverview(cursor: StepCursor) {
  const element = html("div", { class: "gradviz-overview", "aria-hidden": "true" });
  const lead = ({ clientX, buttons }: PointerEvent) => {
    const { left, width } = element.getBoundingClientRect();
    if (buttons === 1 && width) cursor.go(Math.round(((clientX - left) / width) * cursor.last));
  };
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture?.(event.pointerId);
    lead(event);
  });
  element.addEventListener("pointermove", lead);
  /** Draws the marks anew, each at its part of the line, from 0 to 1. */
  const draw = (marks: readonly (readonly [TickName, number])[]) => {
    const places = new Map<string, readonly [TickName, number]>();
    for (const mark of marks) places.set(`${mark[0]} ${Math.round(mark[1] * PLACES)}`, mark);
    const drawn = [...places.values()].map(([name, at]) => {
      const mark = html("span", { class: `gradviz-rare is-${name}` });
      mark.style.setProperty("--at", String(at));
      return mark;
    });
    element.replaceChildren(...drawn);
  };
  return { element, draw };
}
