// Brackets under the timeline: each spans the steps of one turn of a loop, or of many turns that are
// counted, with their number; turns of a loop inside it are on a second line.

import type { Turn } from "../documents/recording";
import { svg } from "../lib/dom";
import type { Timeline } from "../model/timeline";
import { percent } from "./ticks";

/** Levels that are drawn; the words of a step name all. */
const LEVELS = 2;
/** With more turns than this a level is not drawn. */
const CROWDED = 1000;
const HEIGHT = 5;
/** Room for the numbers of counted turns, below the brackets. */
const NUMBERS = 11;

export function makeTurns() {
  const element = svg("svg", { class: "gradviz-turns", "aria-hidden": "true" });
  let drawn: (readonly [Turn, SVGElement])[] = [];
  /** Draws the brackets anew for these steps. */
  const draw = (timeline: Timeline, visible: readonly number[]) => {
    drawn = [];
    for (let level = 0; level < LEVELS; level += 1) {
      const turns = timeline.recording.turns.filter((turn) => turn.level === level);
      if (turns.length <= CROWDED) {
        drawn.push(...turns.flatMap((turn) => bracketOf(turn, visible)));
      }
    }
    element.replaceChildren(...drawn.map(([, bracket]) => bracket));
    const rows = Math.max(0, ...drawn.map(([{ level }]) => level + 1));
    const numbers = drawn.some(([{ times }]) => times > 1) ? NUMBERS : 0;
    element.style.setProperty("height", `${rows * HEIGHT + numbers}px`);
  };
  /** Marks the turns that a step belongs to. */
  const mark = (index: number) => {
    for (const [{ first, last }, bracket] of drawn) {
      bracket.classList.toggle("is-current", first <= index && index <= last);
    }
  };
  return { element, draw, mark };
}

/** A bracket from the first visible step of a turn to its last; none while all are hidden. */
function bracketOf(turn: Turn, visible: readonly number[]): (readonly [Turn, SVGElement])[] {
  const first = visible.findIndex((step) => step >= turn.first);
  const last = visible.findLastIndex((step) => step <= turn.last);
  if (first < 0 || last < first) return [];
  const end = visible.length - 1;
  // From half a step before the first to half a step behind the last, with a gap to the next.
  const from = `${percent(Math.max(0, first - 0.35), end)}%`;
  const to = `${percent(Math.min(end, last + 0.35), end)}%`;
  const y = turn.level * HEIGHT + HEIGHT - 1.5;
  const top = y - 2.5;
  const lines = [
    { x1: from, x2: from, y1: top, y2: y },
    { x1: from, x2: to, y1: y, y2: y },
    { x1: to, x2: to, y1: top, y2: y },
  ];
  const parts = lines.map((line) => svg("line", line));
  if (turn.times === 1) return [[turn, svg("g", {}, ...parts)]];
  const middle = `${percent((Math.max(0, first - 0.35) + Math.min(end, last + 0.35)) / 2, end)}%`;
  const number = svg("text", { x: middle, y: y + NUMBERS - 1.5 }, `×${turn.times}`);
  return [[turn, svg("g", { class: "is-counted" }, ...parts, number)]];
}
