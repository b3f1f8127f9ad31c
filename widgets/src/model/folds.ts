// Where everything is in a folded graph: which fold is in which, which node in which fold, and what
// can be seen while only some of them are open.

import type { Direction, Fold, Folding, Insides } from "../documents/folds";
import { DENSITIES, type Density, type Item } from "../documents/graph";

/** What came from the kernel after the document. */
export interface Arrived {
  readonly insides: Readonly<Partial<Record<Density, Insides>>>;
  readonly items: readonly Item[];
  readonly folds: readonly Fold[];
  /** How many nodes a query finds, beside those that came, and the query. */
  readonly more?: number;
  readonly find?: string;
}

const NONE: ReadonlySet<string> = new Set();

export const NOTHING_ARRIVED: Arrived = { insides: {}, items: [], folds: [] };

/** What is open, and which fold is the whole picture: "" where all of it is one closed box. */
export interface Unfolding {
  readonly folds: Folds;
  readonly opened: ReadonlySet<string>;
  readonly root: string;
  /** The folds that the step opens, whether or not a person closed them again. */
  readonly current: ReadonlySet<string>;
}

/** What a person has open, at every step, and what a person closed again of what steps open. */
export interface Chosen {
  readonly opened: ReadonlySet<string>;
  readonly closed: ReadonlySet<string>;
}

/** What is open at a step. */
export function openedNow({ opened, closed }: Chosen, current: ReadonlySet<string>) {
  const more = [...current].filter((id) => !opened.has(id) && !closed.has(id));
  return more.length ? new Set([...opened, ...more]) : opened;
}

/** A person's choice after which `ids` are open: what the step opened goes on to follow the steps. */
export function choose(
  before: Chosen,
  current: ReadonlySet<string>,
  ids: Iterable<string>,
): Chosen {
  const open = new Set(ids);
  return {
    opened: new Set([...open].filter((id) => !current.has(id) || before.opened.has(id))),
    closed: new Set([...before.closed, ...current].filter((id) => !open.has(id))),
  };
}

export function withArrived(before: Arrived, answer: Arrived): Arrived {
  const { insides, items, folds } = answer;
  const merged = { ...before.insides };
  for (const [density, known] of Object.entries(insides) as [Density, Insides][]) {
    merged[density] = { ...merged[density], ...known };
  }
  return {
    insides: merged,
    items: replaced(before.items, items),
    folds: replaced(before.folds, folds),
    ...{ more: answer.more ?? before.more ?? 0, find: answer.find ?? before.find ?? "" },
  };
}

/** One list with the newer ones in the place of those with the same id. */
export function replaced<T extends { readonly id: string }>(
  before: readonly T[],
  newer: readonly T[],
): readonly T[] {
  if (!newer.length) return before;
  return [...new Map([...before, ...newer].map((one) => [one.id, one])).values()];
}

export class Folds {
  readonly direction: Direction;
  /** Ids that are open at first. */
  readonly first: ReadonlySet<string>;
  /** Ids that the document opens with. */
  readonly opening: ReadonlySet<string>;
  readonly limit: string;
  readonly note: string;
  readonly #current: readonly (readonly [number, ReadonlySet<string>])[];
  readonly #folding: Folding;
  readonly #arrived: Arrived;
  readonly #folds: ReadonlyMap<string, Fold>;
  readonly #items: ReadonlyMap<string, Item>;
  readonly #below = new Map<string, string[]>();
  readonly #insides = new Map<Density, Insides>();

  constructor(
    folding: Folding,
    arrived: Arrived,
    items: readonly Item[],
    narrow?: ReadonlySet<string>,
  ) {
    this.#folding = folding;
    this.#arrived = arrived;
    this.direction = folding.direction;
    this.opening = new Set(folding.opened);
    this.first = narrow ?? this.opening;
    this.limit = folding.limit;
    this.note = folding.note;
    this.#current = (folding.current ?? []).map(([step, ids]) => [step, new Set(ids)]);
    const folds = replaced(folding.folds, arrived.folds);
    this.#folds = new Map(folds.map((fold) => [fold.id, fold]));
    this.#items = new Map(items.map((item) => [item.id, item]));
    for (const { id, above } of folds) {
      if (above) this.#below.set(above, [...(this.#below.get(above) ?? []), id]);
    }
  }

  get(id: string): Fold | undefined {
    return this.#folds.get(id);
  }

  item(id: string): Item | undefined {
    return this.#items.get(id);
  }

  /** What a step opens beside what a person does. */
  currentAt(step: number): ReadonlySet<string> {
    return this.#current.findLast(([from]) => from <= step)?.[1] ?? NONE;
  }

  /** The fold with the whole graph. */
  get top(): string {
    return this.#folding.folds[0]?.id ?? "";
  }

  /** Folds directly in one. */
  below(id: string): readonly string[] {
    return this.#below.get(id) ?? [];
  }

  /** The folds that a node or a fold is in, the whole graph first; a fold is not in itself. */
  around(id: string): readonly string[] {
    const found: string[] = [];
    let at = this.#above(id);
    while (at && !found.includes(at)) {
      found.unshift(at);
      at = this.#folds.get(at)?.above ?? "";
    }
    return found;
  }

  /** Whether something is the fold, or in it. */
  isWithin(id: string, fold: string): boolean {
    return id === fold || this.around(id).includes(fold);
  }

  /** The insides that are known, in one density where they are known in it. */
  insides(density: Density): Insides {
    let known = this.#insides.get(density);
    if (!known) {
      const all = [...DENSITIES.filter((other) => other !== density), density].map((one) => ({
        ...this.#folding.insides[one],
        ...this.#arrived.insides[one],
      }));
      known = Object.assign({}, ...all) as Insides;
      this.#insides.set(density, known);
    }
    return known;
  }

  /** Whether the inside of a fold is known. */
  isKnown(id: string): boolean {
    return this.insides(DENSITIES[0])[id] !== undefined;
  }

  /** What is seen of a node or a fold: itself, or the closed box that it is in; "" if neither. */
  shownFor(id: string, { opened, root }: Unfolding): string {
    const around = this.around(id);
    if (root === "") return around[0] ?? id;
    const from = id === root ? around.length : around.indexOf(root);
    if (from < 0) return "";
    return around.slice(from + 1).find((fold) => !opened.has(fold)) ?? id;
  }

  /** A fold in a word or two: the last part of its path, which says what it is in another one. */
  crumb(id: string): string {
    const fold = this.#folds.get(id);
    if (!fold) return this.#items.get(id)?.label ?? id;
    const parts = fold.path.split(".").filter(Boolean);
    const isNumber = /^\d+$/.test(parts.at(-1) ?? "");
    return parts.slice(isNumber ? -2 : -1).join(".") || fold.label;
  }

  #above(id: string): string {
    const fold = this.#folds.get(id);
    if (fold) return fold.above;
    const item = this.#items.get(id);
    if (!item) return "";
    if (item.fold !== undefined) return item.fold;
    // What has no place of its own is where its node is.
    const holder = [...item.next, ...item.prev].map((to) => this.#items.get(to)?.fold);
    return holder.find((one) => one !== undefined) ?? "";
  }
}
