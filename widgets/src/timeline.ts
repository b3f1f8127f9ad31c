// A recording as a row of moments. Every moment is folded from the steps before it, never from the
// one that was shown last, so going back and forth and jumping give exactly the same. Pure.
import type { CardWire } from "./card_wire";
import type { RecordingWire, View } from "./recording_wire";
import type { Facts, Item } from "./wire";

/** Everything that is shown of one step. */
export interface Moment {
  /** Element -> number of its variant. */
  readonly at: ReadonlyMap<string, number>;
  readonly items: ReadonlyMap<string, Item>;
  readonly tensors: ReadonlyMap<string, readonly string[]>;
  readonly rows: ReadonlyMap<string, readonly string[]>;
}

/** An explanation and the step at which it was noticed. */
export interface Explained {
  readonly card: CardWire;
  readonly step: number;
}

type Changes<T> = Readonly<Record<string, T | null>>;

/** Every so many steps a moment is kept, from which the next ones are folded. */
const KEEP_EVERY = 16;
/** Steps of a higher level are seen only when sub-steps are shown. */
const COARSE = 1;

export class Timeline {
  readonly wire: RecordingWire;
  readonly explained: readonly Explained[];
  readonly #kept: Moment[] = [];
  readonly #facts = new Map<number, Facts>();
  #twins: ReadonlyMap<string, readonly string[]> | undefined;
  #labels: ReadonlyMap<string, string> | undefined;
  readonly #coarse: readonly number[];
  readonly #all: readonly number[];

  constructor(wire: RecordingWire) {
    this.wire = wire;
    this.explained = wire.views.flatMap(({ cards }, step) =>
      (cards ?? []).map((card) => ({ card, step })),
    );
    this.#all = wire.views.map((_, index) => index);
    this.#coarse = this.#all.filter((index) => this.view(index).level <= COARSE);
  }

  /** The step with this number; of numbers that are out of range the nearest. */
  view(index: number): View {
    const { views } = this.wire;
    return views[Math.max(0, Math.min(index, views.length - 1))] as View;
  }

  moment(index: number): Moment {
    const start = Math.floor(index / KEEP_EVERY);
    while (this.#kept.length <= start) {
      const from = (this.#kept.length - 1) * KEEP_EVERY;
      const before = this.#kept.at(-1);
      this.#kept.push(this.#fold(before, before ? from + 1 : 0, before ? from + KEEP_EVERY : 0));
    }
    return this.#fold(this.#kept[start], start * KEEP_EVERY + 1, index);
  }

  #fold(before: Moment | undefined, first: number, last: number): Moment {
    const views = this.wire.views.slice(first, last + 1);
    const fold = <T>(known: ReadonlyMap<string, T> | undefined, changes: Changes<T>[]) => {
      const made = new Map(known);
      for (const [key, value] of changes.flatMap((change) => Object.entries(change))) {
        if (value === null) made.delete(key);
        else made.set(key, value);
      }
      return made;
    };
    return {
      at: fold(
        before?.at,
        views.map(({ at }) => at),
      ),
      items: fold(
        before?.items,
        views.map(({ items }) => items),
      ),
      tensors: fold(
        before?.tensors,
        views.map(({ tensors }) => tensors),
      ),
      rows: fold(
        before?.rows,
        views.map(({ rows }) => rows),
      ),
    };
  }

  /** The same as a graph has, as of a step. */
  facts(index: number): Facts {
    const known = this.#facts.get(index);
    if (known) return known;
    const { items, rows } = this.moment(index);
    const facts: Facts = {
      title: this.wire.title,
      summary: this.view(index).summary,
      items: inOrder(items).map(([, item]) => item),
      outline: {
        columns: this.wire.outline_columns,
        rows: inOrder(rows).map(([id, cells]) => ({ id, cells })),
      },
    };
    this.#facts.set(index, facts);
    return facts;
  }

  /** Numbers of the steps one can go to, in order. */
  visible(detail: boolean): readonly number[] {
    return detail || !this.#coarse.length ? this.#all : this.#coarse;
  }

  /** The step itself, or the one it is a part of: parts come before their whole. */
  enclosing(index: number, detail: boolean): number {
    const steps = this.visible(detail);
    return steps.find((step) => step >= index) ?? steps.at(-1) ?? 0;
  }

  /** Visible steps at which a line has run; while it has not, those inside it. */
  stepsOf(line: string, detail: boolean): readonly number[] {
    const inside = this.visible(detail).filter((index) => lineOf(this.view(index)) === line);
    const ran = inside.filter((index) => this.view(index).level === 0);
    return ran.length ? ran : inside;
  }

  /** A leaf's node and its tensor are one card; this leads from each to the other. */
  get twins(): ReadonlyMap<string, readonly string[]> {
    this.#twins ??= twinsIn(Object.values(this.wire.elements).flat());
    return this.#twins;
  }

  get errorAt(): number | undefined {
    const at = this.wire.views.findLastIndex((view) => view.kind === "error");
    return at < 0 ? undefined : at;
  }

  /** The step of the error, else the first at which a silent fault takes effect. */
  get faultAt(): number | undefined {
    return this.errorAt ?? this.explained[0]?.step;
  }

  /** What an id is called at the first step that knows it. */
  labelOf(id: string): string | undefined {
    this.#labels ??= labelsIn(this.wire.views);
    return this.#labels.get(id);
  }

  /** What is selected for an id: the thing itself, for a leaf's tensor its node. */
  itemOf(id: string): string | undefined {
    const both = [id, ...(this.twins.get(id) ?? [])];
    return both.find((known) => this.labelOf(known) !== undefined);
  }

  /** The largest number of tensors that any step knows. */
  get mostTensors(): number {
    const alive = new Set<string>();
    let most = 0;
    for (const { tensors } of this.wire.views) {
      for (const [id, cells] of Object.entries(tensors)) {
        if (cells) alive.add(id);
        else alive.delete(id);
      }
      most = Math.max(most, alive.size);
    }
    return most;
  }
}

/** Id under which a line lights up. */
export function lineOf({ code, line }: Pick<View, "code" | "line">): string {
  return line === null ? "" : `line:${code}:${line}`;
}

/** n0, n1, …, then t0, t1, …: the order of every list, at every step. */
export function inOrder<T>(known: ReadonlyMap<string, T>): (readonly [string, T])[] {
  const number = (id: string) => Number(id.slice(1)) || 0;
  return [...known].sort(
    ([a], [b]) => a.charCodeAt(0) - b.charCodeAt(0) || number(a) - number(b) || (a < b ? -1 : 1),
  );
}

function labelsIn(views: readonly View[]): ReadonlyMap<string, string> {
  const labels = new Map<string, string>();
  for (const [id, item] of views.flatMap(({ items }) => Object.entries(items))) {
    if (item && !labels.has(id)) labels.set(id, item.label);
  }
  return labels;
}

function twinsIn(variants: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const twins = new Map<string, readonly string[]>();
  for (const markup of variants) {
    const card = markup.slice(0, markup.indexOf(">"));
    const node = /data-id="([^"]+)"/.exec(card)?.[1];
    const tensor = /data-tensor="([^"]+)"/.exec(card)?.[1];
    if (!node || !tensor) continue;
    twins.set(node, [...new Set([...(twins.get(node) ?? []), tensor])]);
    twins.set(tensor, [...new Set([...(twins.get(tensor) ?? []), node])]);
  }
  return twins;
}
