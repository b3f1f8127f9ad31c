// What is open where a whole picture is folded or unfolded at once. Pure.

import type { Unfolding } from "./folds";

/** Cards of a picture above which not everything is unfolded at once. */
export const MOST_CARDS = 1500;

/** As the document opens; all folded; as far as two folds deep; all unfolded. */
export type Level = "first" | "none" | "two" | "all";

const DEPTH: Record<Exclude<Level, "first">, number> = {
  none: 0,
  two: 2,
  all: Number.POSITIVE_INFINITY,
};

export interface LevelOpened {
  readonly ids: ReadonlySet<string>;
  /** Folds that would be open too, if their insides were known. */
  readonly missing: readonly string[];
  /** How many stay closed since the picture would have too many cards. */
  readonly left: number;
}

/** Which folds are open at a level, in the fold that is the whole picture; outside of it all stays. */
export function openedAt({ folds, root, opened }: Unfolding, level: Level): LevelOpened {
  if (level === "first") return { ids: folds.first, missing: [], left: 0 };
  const start = root || folds.top;
  const ids = new Set([...opened].filter((id) => !folds.isWithin(id, start)));
  // What is shown alone is open.
  const least = start === folds.top ? 0 : 1;
  const missing: string[] = [];
  let left = 0;
  let cards = 1;
  // Of folds whose insides are not known, the next ones are asked for only as far as there is room.
  let awaited = 0;
  const todo: (readonly [string, number])[] = [[start, 0]];
  for (const [id, depth] of todo) {
    if (depth >= Math.max(least, DEPTH[level])) continue;
    const members = folds.get(id)?.members ?? 0;
    if (cards + awaited + members > MOST_CARDS) left += 1;
    else if (!folds.isKnown(id)) {
      missing.push(id);
      awaited += members;
    } else {
      ids.add(id);
      cards += members - 1;
      todo.push(...folds.below(id).map((one) => [one, depth + 1] as const));
    }
  }
  return { ids, missing, left };
}
