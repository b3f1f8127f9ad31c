// Marks on the time line: each has a shape of its own, a colour and a word.
import { html, svg } from "../lib/dom";

/** In order of priority: where several meet, the first is drawn and all are named. */
export const TICKS = {
  error: { word: "an exception was raised", d: "M6 .8 11.6 11H.4z" },
  warning: {
    word: "no error, but wrong from here",
    d: "M6 .8 11.6 11H.4zM6 4.400v3M6 8.900v.8",
  },
  culprit: {
    word: "the line of the culprit ran",
    d: "M4.500.8h3l-.7 6.500H5.200zM4.800 9h2.400v2.400H4.800z",
  },
  stop: { word: "marked by the author", d: "M2.5 1h7v10L6 8l-3.5 3z" },
  counted: {
    word: "many steps, counted",
    d: "M1 5h2.500v2.500H1zM4.800 5h2.500v2.500H4.800zM8.500 5H11v2.500H8.500z",
  },
  look: { word: "worth a look", d: "M6 4a2 2 0 1 1 0 4A2 2 0 1 1 6 4" },
} as const;

export type TickName = keyof typeof TICKS;

const NAMES = Object.keys(TICKS) as TickName[];

export const isTick = (name: string): name is TickName => name in TICKS;

export function orderOf(names: Iterable<TickName>): TickName[] {
  return [...names].sort((a, b) => NAMES.indexOf(a) - NAMES.indexOf(b));
}

/** The mark alone; the slider and the caption have its words. */
export function makeTick(name: TickName): HTMLElement {
  const glyph = svg("svg", { viewBox: "0 0 12 12" }, svg("path", { d: TICKS[name].d }));
  return html("span", { class: `gradviz-tick is-${name}`, "aria-hidden": "true" }, glyph);
}

/** A place on the timeline in percent of its width. */
export function percent(place: number, last: number): number {
  return last ? Math.round((place / last) * 100_000) / 1000 : 0;
}
