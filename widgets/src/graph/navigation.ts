// Which item of the graph the arrow keys go to. Pure: positions and neighbours in, an id out.

import type { Item } from "../documents/graph";
import type { Box } from "./camera";

export type Flow = "down" | "up" | "right" | "left";

/** Towards which side data flows in the picture: from an item to its `prev` neighbours. */
export function flowOf(items: readonly Item[], boxes: ReadonlyMap<string, Box>): Flow {
  let dx = 0;
  let dy = 0;
  for (const item of items) {
    for (const id of item.next) {
      const from = boxes.get(id);
      const to = boxes.get(item.id);
      if (!from || !to || isBeside(from, to)) continue;
      dx += to.x + to.width / 2 - from.x - from.width / 2;
      dy += to.y + to.height / 2 - from.y - from.height / 2;
    }
  }
  if (Math.abs(dx) > Math.abs(dy)) return dx > 0 ? "right" : "left";
  return dy < 0 ? "up" : "down";
}

/** Whether a box has its place in the column on the right of another one. */
function isBeside(box: Box, of: Box): boolean {
  const away = Math.abs(box.y + box.height / 2 - of.y - of.height / 2);
  return box.x >= of.x + of.width && away <= box.height + of.height;
}

type Arrow = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";
type Move = "next" | "prev" | "before" | "after";

const MOVES: Record<Flow, Record<Arrow, Move>> = {
  down: { ArrowUp: "next", ArrowDown: "prev", ArrowLeft: "before", ArrowRight: "after" },
  up: { ArrowUp: "prev", ArrowDown: "next", ArrowLeft: "before", ArrowRight: "after" },
  right: { ArrowLeft: "next", ArrowRight: "prev", ArrowUp: "before", ArrowDown: "after" },
  left: { ArrowLeft: "prev", ArrowRight: "next", ArrowUp: "before", ArrowDown: "after" },
};

export function moveOf(key: string, flow: Flow): Move | undefined {
  return (MOVES[flow] as Record<string, Move>)[key];
}

/** The id that a move goes to; `trail` holds ids visited before, the latest last. */
export function neighbour(
  from: Item,
  move: Move,
  flow: Flow,
  boxes: ReadonlyMap<string, Box>,
  trail: readonly string[],
): string | undefined {
  if (move === "next" || move === "prev") {
    const choices = from[move].filter((id) => boxes.has(id));
    // To the item visited before, else to the first; for `next` that is next_functions[0].
    return trail.findLast((id) => choices.includes(id)) ?? choices[0];
  }
  const isAcross = flow === "down" || flow === "up";
  return nearestAlong(from.id, isAcross, move === "after" ? 1 : -1, 3, boxes);
}

/** The box that is nearest on one side; `aside` is how much further off what is not straight on is. */
export function nearestAlong(
  from: string,
  isAcross: boolean,
  sign: 1 | -1,
  aside: number,
  boxes: ReadonlyMap<string, Box>,
): string | undefined {
  const own = boxes.get(from);
  if (!own) return undefined;
  let best: string | undefined;
  let bestCost = Number.POSITIVE_INFINITY;
  for (const [id, box] of boxes) {
    const dx = box.x + box.width / 2 - own.x - own.width / 2;
    const dy = box.y + box.height / 2 - own.y - own.height / 2;
    const [along, off] = isAcross ? [dx * sign, Math.abs(dy)] : [dy * sign, Math.abs(dx)];
    const cost = along + aside * off;
    if (id !== from && along > 1 && cost < bestCost) [best, bestCost] = [id, cost];
  }
  return best;
}
