// The paths through an item: everything between the leaves and the root that it is joined to. Pure.

import type { Item } from "../documents/graph";

export interface Paths {
  /** The item and everything that it was computed from. */
  readonly inputs: ReadonlySet<string>;
  /** The item and everything that was computed from it. */
  readonly outputs: ReadonlySet<string>;
}

export function pathsThrough(items: readonly Item[], id: string): Paths {
  const known = new Map(items.map((item) => [item.id, item]));
  const reached = (way: "next" | "prev") => {
    const found = new Set([id]);
    for (const at of found) for (const to of known.get(at)?.[way] ?? []) found.add(to);
    return found;
  };
  return { inputs: reached("next"), outputs: reached("prev") };
}

/** Whether an edge is part of a path: both of its ends are on the same side of the item. */
export function joins({ inputs, outputs }: Paths, source: string, target: string): boolean {
  return [inputs, outputs].some((side) => side.has(source) && side.has(target));
}
