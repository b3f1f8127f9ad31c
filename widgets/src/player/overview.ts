// All steps as a thin line above a timeline that is too long to be seen whole: where the current step
// is, and what is rare. It leads to a step by pointer; for keys and screen readers there is the slider.
import { html } from "../lib/dom";
import type { StepCursor } from "./step_cursor";
import type { TickName } from "./ticks";

/** More marks of a kind would be one line, which says nothing. */
const CROWDED = 40;

export interface Overview {
  readonly element: HTMLElement;
  /** Draws the marks anew, each at its part of the line, from 0 to 1. */
  draw(marks: readonly (readonly [TickName, number])[]): void;
}

export function makeOverview(cursor: StepCursor): Overview {
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
  const draw = (marks: readonly (readonly [TickName, number])[]) => {
    const counts = new Map<TickName, number>();
    for (const [name] of marks) counts.set(name, (counts.get(name) ?? 0) + 1);
    const few = marks.filter(([name]) => (counts.get(name) ?? 0) <= CROWDED);
    const drawn = few.map(([name, at]) => {
      const mark = html("span", { class: `gradviz-rare is-${name}` });
      mark.style.setProperty("--at", String(at));
      return mark;
    });
    element.replaceChildren(...drawn);
  };
  return { element, draw };
}
