// The curve of a link: past each row of boxes straight along the flow, sideways only between rows. Pure.
// The same as in gradviz/view/graph/routes.py, which chose the places where it turns.

import type { Direction, Pair } from "../documents/folds";
import type { Need } from "./stretch";

/** How long a link that turns keeps its direction, as a share of the gap. */
const STIFF = 0.75;
/** Pixels below which two places are the same one. */
const SAME = 0.05;
/** Pixels that links move sideways without needing more room between two rows, more room for each pixel
    that they move further, and room above which it is not made larger for them. */
const [NARROW, ROOM, MOST] = [40, 0.04, 22];

/** Bézier control points of a link that turns at these places: along the flow at each, and between two
    never against it. */
export function curve(way: readonly Pair[], direction: Direction): Pair[] {
  const isDown = direction === "TB";
  const across = isDown ? 0 : 1;
  const [start, end] = [way[0], way.at(-1)] as [Pair, Pair];
  const turns = [start];
  for (const [i, place] of way.slice(1, -1).entries()) {
    const before = turns.at(-1) as Pair;
    const sides = [before, place, way[i + 2] as Pair].map((one) => one[across]);
    const isStraight = Math.max(...sides) - Math.min(...sides) <= SAME;
    if (!isStraight && apart(place, before) > SAME) turns.push(place);
  }
  if (turns.length > 1 && apart(end, turns.at(-1) as Pair) <= SAME) turns.pop();
  turns.push(end);
  return turns.flatMap(([x, y], i) => {
    const from = turns[i - 1];
    if (!from) return [[x, y]];
    const by = STIFF * (isDown ? y - from[1] : x - from[0]);
    const [one, other]: [Pair, Pair] = isDown
      ? [
          [from[0], from[1] + by],
          [x, y - by],
        ]
      : [
          [from[0] + by, from[1]],
          [x - by, y],
        ];
    return [one, other, [x, y]] as Pair[];
  });
}

/** Gaps between rows that are too narrow for the links that turn there, each with the room that it
    needs. Of each place of a link how far it is across the flow, and how far along it. */
export function room(ways: readonly (readonly Pair[])[]): Need[] {
  const gaps = new Map<string, { readonly gap: Pair; readonly move: number }>();
  for (const way of ways) {
    for (const [i, [across, after]] of way.slice(0, -1).entries()) {
      const [other, before] = way[i + 1] as Pair;
      const key = `${after} ${before}`;
      const move = Math.max(gaps.get(key)?.move ?? 0, Math.abs(other - across));
      gaps.set(key, { gap: [after, before], move });
    }
  }
  return [...gaps.values()]
    .filter(({ gap: [after, before], move }) => {
      return move > NARROW && before > after && before - after < MOST;
    })
    .map(({ gap: [after, before], move }): Need => {
      return [after, before, Math.min(MOST, before - after + ROOM * (move - NARROW))];
    });
}

const apart = (one: Pair, other: Pair) => Math.hypot(one[0] - other[0], one[1] - other[1]);
