// The paths through an item: everything between the leaves and the root that it is joined to. Pure.

import type { Item } from "../documents/graph";

export interface Paths {
  /** The item and everything that it was computed from. */
  readonly inputs: ReadonlySet<string>;
  /** The item and everything that was computed from it. */
  readonly outputs: ReadonlySet<string>;
}

/** The paths through an item, or through any of several. */
export function pathsThrough(items: readonly Item[], ...ids: readonly string[]): Paths {
  const known = new Map(items.map((item) => [item.id, item]));
  const reached = (way: "next" | "prev") => {
    const found = new Set(ids);
    for (const at of found) for (const to of known.get(at)?.[way] ?? []) found.add(to);
    return found;
  };
  return { inputs: reached("next"), outputs: reached("prev") };
}

/** The paths that lead from one of the first to one of the second, whichever is computed from the
    other; empty where there is none. */
export function pathsBetween(
  items: readonly Item[],
  first: readonly string[],
  second: readonly string[],
): Paths {
  const [one, other] = [pathsThrough(items, ...first), pathsThrough(items, ...second)];
  const both = (inputs: ReadonlySet<string>, outputs: ReadonlySet<string>) =>
    new Set([...inputs].filter((id) => outputs.has(id)));
  return { inputs: both(one.inputs, other.outputs), outputs: both(other.inputs, one.outputs) };
}

/** Whether an edge is part of a path: both of its ends are on the same side of the item. */
export function joins({ inputs, outputs }: Paths, source: string, target: string): boolean {
  return [inputs, outputs].some((side) => side.has(source) && side.has(target));
}

/** The edges of the paths: each node with those on the paths that use it. */
export function edgesOn(items: readonly Item[], { inputs, outputs }: Paths) {
  const found = new Map<string, string[]>();
  for (const { id, next } of items) {
    for (const side of [inputs, outputs]) {
      if (!side.has(id)) continue;
      for (const to of next) if (side.has(to)) found.set(to, [...(found.get(to) ?? []), id]);
    }
  }
  return found;
}
