// What is open where a whole picture is folded or unfolded at once. Pure.

import type { Unfolding } from "./folds";

/** Cards of a picture above which not everything is unfolded at once. */
export const MOST_CARDS = 1500;

/** Folds that are unfolded level by level; those of leaves are details. */
const LEVELS: ReadonlySet<string> = new Set(["graph", "module", "repeat", "turn", "part"]);

/** As the document opens; all folded; two levels of folds deeper than it opens; all unfolded. */
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
  /** Whether nothing is there to be opened at this level beside what is open at first. */
  readonly isFirst: boolean;
}

/** Which folds are open at a level, in the fold that is the whole picture; outside of it all stays. */
export function openedAt(now: Unfolding, level: Level): LevelOpened {
  const { folds, root, opened, current } = now;
  if (level === "first") {
    return { ids: new Set([...folds.first, ...current]), missing: [], left: 0, isFirst: true };
  }
  const start = root || folds.top;
  const ids = new Set([...opened].filter((id) => !folds.isWithin(id, start)));
  // What is shown alone is open, and levels are counted from what is open at first.
  const alone = start === folds.top ? [] : [start];
  const base = new Set(level === "two" ? [...folds.first, ...alone] : alone);
  const missing: string[] = [];
  let left = 0;
  let cards = 1;
  // Of folds whose insides are not known, the next ones are asked for only as far as there is room.
  let awaited = 0;
  let isFirst = true;
  const todo: (readonly [string, number])[] = [[start, 0]];
  for (const [id, depth] of todo) {
    const { members = 0, kind = "" } = folds.get(id) ?? {};
    const isBase = base.has(id);
    const isDeeper = depth < DEPTH[level] && (level === "all" || LEVELS.has(kind));
    if (!isBase && !isDeeper) continue;
    if (!isBase) isFirst = false;
    if (cards + awaited + members > MOST_CARDS) left += 1;
    else if (!folds.isKnown(id)) {
      missing.push(id);
      awaited += members;
    } else {
      ids.add(id);
      cards += members - 1;
      todo.push(...folds.below(id).map((one) => [one, isBase ? depth : depth + 1] as const));
    }
  }
  return { ids, missing, left, isFirst };
}
