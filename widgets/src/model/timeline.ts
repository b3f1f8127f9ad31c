// The state of a recording at each step. Every state is folded from the steps before it, never from
// the one shown last, so stepping and jumping give the same. Pure.
import type { ExplanationCard } from "../documents/explanation";
import { DENSITIES, type Density, type GraphContent, type Item } from "../documents/graph";
import { lookOf } from "../documents/pictures";
import type { FoldRun, RecordingDocument, StepView, Turn } from "../documents/recording";

/** Everything that is shown of one step. */
export interface StepState {
  /** Element -> number of its variant, in each density. */
  readonly at: ReadonlyMap<Density, ReadonlyMap<string, number>>;
  readonly items: ReadonlyMap<string, Item>;
  readonly tensors: ReadonlyMap<string, readonly string[]>;
  readonly rows: ReadonlyMap<string, readonly string[]>;
}

/** An explanation and the step at which it was noticed. */
export interface Explained {
  readonly card: ExplanationCard;
  readonly step: number;
}

type Looks = Readonly<Record<string, readonly (readonly number[])[]>>;

/** The elements of insides that came from the kernel after the document. */
export interface ArrivedLooks {
  /** By element its variants, each the places of its text in `pieces`. */
  readonly looks: Readonly<Partial<Record<Density, Looks>>>;
  readonly pieces: readonly string[];
  /** Steps at which variants begin, in order. */
  readonly at: Readonly<
    Partial<Record<Density, readonly (readonly [number, Readonly<Record<string, number>>])[]>>
  >;
}

type Delta<T> = Readonly<Record<string, T | null>>;

/** Steps between two cached states. */
const KEEP_EVERY = 16;

/** What is opened, so that the steps inside are shown too: steps by their places, and behind them the
 * runs of folds, see {@link Timeline.containersOf}; "all" of them. */
export type Opened = ReadonlySet<number> | "all";

export class Timeline {
  readonly recording: RecordingDocument;
  /** Errors and faults. */
  readonly explained: readonly Explained[];
  /** What is only worth a look. */
  readonly noted: readonly Explained[];
  readonly #kept: StepState[] = [];
  /** What came from the kernel: texts of the variants of elements, and by step which begin. */
  readonly #looks = new Map<Density, Map<string, readonly string[]>>();
  readonly #later = new Map<number, StepView["at"]>();
  readonly #contents = new Map<number, GraphContent>();
  readonly #partners: ReadonlyMap<string, readonly string[]>;
  #labels: ReadonlyMap<string, string> | undefined;
  /** Number of a step -> its place. */
  readonly #places: ReadonlyMap<string, number>;
  /** Step -> the steps directly inside it. */
  readonly #inside = new Map<number, number[]>();
  readonly #visible = new Map<string, readonly number[]>();
  readonly #containers = new Map<number, readonly number[]>();

  constructor(recording: RecordingDocument) {
    this.recording = recording;
    this.#partners = partnersIn(recording);
    const all = recording.views.flatMap(({ cards }, step) =>
      (cards ?? []).map((card) => ({ card, step })),
    );
    this.explained = all.filter(({ card }) => card.tone !== "note");
    this.noted = all.filter(({ card }) => card.tone === "note");
    this.#places = new Map(recording.views.map((_, index) => [this.nameOf(index), index]));
    recording.views.forEach((_, index) => {
      const container = this.containerOf(index);
      if (container === undefined) return;
      this.#inside.set(container, [...(this.#inside.get(container) ?? []), index]);
    });
  }

  /** The step at this place, or the nearest one. */
  view(index: number): StepView {
    const { views } = this.recording;
    return views[Math.max(0, Math.min(index, views.length - 1))] as StepView;
  }

  state(index: number): StepState {
    const start = Math.floor(index / KEEP_EVERY);
    while (this.#kept.length <= start) {
      const from = (this.#kept.length - 1) * KEEP_EVERY;
      const before = this.#kept.at(-1);
      this.#kept.push(this.#fold(before, before ? from + 1 : 0, before ? from + KEEP_EVERY : 0));
    }
    return this.#fold(this.#kept[start], start * KEEP_EVERY + 1, index);
  }

  /** Takes over the looks of elements that came from the kernel after the document. */
  add({ looks, pieces, at }: ArrivedLooks): void {
    for (const [density, found] of Object.entries(looks) as [Density, Looks][]) {
      const known = this.#looks.get(density) ?? new Map<string, readonly string[]>();
      for (const [key, variants] of Object.entries(found)) {
        known.set(
          key,
          variants.map((look) => look.map((place) => pieces[place] ?? "").join("")),
        );
      }
      this.#looks.set(density, known);
    }
    for (const [density, steps] of Object.entries(at) as [Density, ArrivedLooks["at"][Density]][]) {
      for (const [step, variants] of steps ?? []) {
        const known = this.#later.get(step) ?? {};
        this.#later.set(step, { ...known, [density]: { ...known[density], ...variants } });
      }
    }
    this.#kept.length = 0;
  }

  /** The text of an element in one variant; "" where it is absent. */
  look(density: Density, key: string, variant: number): string {
    const later = this.#looks.get(density)?.get(key);
    return later ? (later[variant] ?? "") : lookOf(this.recording, density, key, variant);
  }

  #fold(before: StepState | undefined, first: number, last: number): StepState {
    const views = this.recording.views.slice(first, last + 1);
    const fold = <T>(
      known: ReadonlyMap<string, T> | undefined,
      changes: (view: StepView, i: number) => Delta<T>,
    ) => {
      const made = new Map(known);
      for (const [key, value] of views.flatMap((view, i) => Object.entries(changes(view, i)))) {
        if (value === null) made.delete(key);
        else made.set(key, value);
      }
      return made;
    };
    const variants = (density: Density) =>
      fold(before?.at.get(density), ({ at }, i) => ({
        ...at[density],
        ...this.#later.get(first + i)?.[density],
      }));
    const drawn = DENSITIES.filter((density) => this.recording.pictures[density]);
    return {
      at: new Map(drawn.map((density) => [density, variants(density)])),
      items: fold(before?.items, ({ items }) => items),
      tensors: fold(before?.tensors, ({ tensors }) => tensors),
      rows: fold(before?.rows, ({ rows }) => rows),
    };
  }

  /** The content of the graph at a step. */
  content(index: number): GraphContent {
    const known = this.#contents.get(index);
    if (known) return known;
    const { items, rows } = this.state(index);
    const content: GraphContent = {
      title: this.recording.title,
      summary: this.view(index).summary,
      items: inOrder(items).map(([, item]) => item),
      outline: {
        columns: this.recording.outline_columns,
        rows: inOrder(rows).map(([id, cells]) => ({ id, cells })),
      },
    };
    this.#contents.set(index, content);
    return content;
  }

  /** What a person calls a step: "7", of a sub-step "7.3". */
  nameOf(index: number): string {
    return this.view(index).number.join(".");
  }

  /** The place of the step with this name, undefined if there is none. */
  placeOf(name: string): number | undefined {
    return this.#places.get(name);
  }

  /** How many steps there are, sub-steps aside: the number of the last one. */
  get count(): number {
    const { of, views } = this.recording;
    return of?.last ?? views.findLast(({ number }) => number.length === 1)?.number[0] ?? 0;
  }

  /** The step that a sub-step is directly inside of. */
  containerOf(index: number): number | undefined {
    return this.#places.get(this.view(index).number.slice(0, -1).join("."));
  }

  /** All that a step is inside of, the innermost first: of a sub-step the steps, by their places;
   * runs of folds, by numbers behind all places. The last step of a run stands for it. */
  containersOf(index: number): readonly number[] {
    const known = this.#containers.get(index);
    if (known) return known;
    const container = this.containerOf(index);
    const runs = this.#runs.flatMap(({ first, last }, run) =>
      first <= index && index <= last ? [this.#keyOf(run)] : [],
    );
    const around = container === undefined ? [] : [container, ...this.containersOf(container)];
    const found = [...new Set([...around, ...runs.reverse()])];
    this.#containers.set(index, found);
    return found;
  }

  /** What has to be opened for a step to be shown. */
  around(index: number): readonly number[] {
    return this.containersOf(index).filter((key) => this.#runOf(key)?.last !== index);
  }

  /** The step that stands for something that can be opened. */
  endOf(key: number): number {
    return this.#runOf(key)?.last ?? key;
  }

  /** What is opened at first. */
  get openedFirst(): ReadonlySet<number> {
    return new Set(this.#runs.flatMap(({ open }, run) => (open ? [this.#keyOf(run)] : [])));
  }

  /** The outermost run that is not opened and that a step stands for, with its number. */
  runAt(
    index: number,
    opened: Opened,
  ): { readonly run: FoldRun; readonly key: number } | undefined {
    if (opened === "all") return undefined;
    for (const [place, run] of this.#runs.entries()) {
      const key = this.#keyOf(place);
      if (run.last === index && !opened.has(key)) return { run, key };
    }
    return undefined;
  }

  /** The box of the picture in which the nodes of a run are that is opened; "" if there is none. */
  foldOf(key: number): string {
    return this.#runOf(key)?.fold ?? "";
  }

  #runOf(key: number): FoldRun | undefined {
    return this.#runs[key - this.recording.views.length];
  }

  #keyOf(run: number): number {
    return this.recording.views.length + run;
  }

  get #runs(): readonly FoldRun[] {
    return this.recording.runs ?? [];
  }

  /** The sub-steps directly inside a step. */
  inside(index: number): readonly number[] {
    return this.#inside.get(index) ?? [];
  }

  get hasSubSteps(): boolean {
    return this.#inside.size > 0;
  }

  /** Places of the steps that are shown, in order: sub-steps only of opened steps. */
  visible(opened: Opened): readonly number[] {
    const key = opened === "all" ? opened : [...opened].sort((a, b) => a - b).join();
    const isShown = (index: number) =>
      opened === "all" || this.around(index).every((key) => opened.has(key));
    const known =
      this.#visible.get(key) ?? this.recording.views.map((_, index) => index).filter(isShown);
    this.#visible.set(key, known);
    return known;
  }

  /** Steps at which a line has run, those inside it while it has not: of these or, where none
   * is, of all steps. */
  stepsOf(line: string, steps: readonly number[]): readonly number[] {
    const here = steps.filter((index) => lineId(this.view(index)) === line);
    const all = this.visible("all");
    const inside = here.length || steps === all ? here : this.stepsOf(line, all);
    const ran = inside.filter((index) => this.view(index).level === 0);
    return ran.length ? ran : inside;
  }

  /** The turns of loops that a step belongs to, the outer ones first. */
  turnsAt(index: number): readonly Turn[] {
    const around = this.recording.turns.filter(
      ({ first, last }) => first <= index && index <= last,
    );
    return around.sort((a, b) => a.level - b.level);
  }

  /** A leaf's node and its tensor share a card: each -> the other. */
  partnersOf(id: string): readonly string[] {
    return this.#partners.get(id) ?? [];
  }

  get errorAt(): number | undefined {
    const at = this.recording.views.findLastIndex((view) => view.kind === "error");
    return at < 0 ? undefined : at;
  }

  /** The step of the error, else the first at which a silent fault takes effect. */
  get faultAt(): number | undefined {
    return this.errorAt ?? this.explained[0]?.step;
  }

  /** The name of an id at the first step that has it. */
  labelOf(id: string): string | undefined {
    this.#labels ??= new Map(this.everyItem.map((item) => [item.id, item.label]));
    return this.#labels.get(id);
  }

  /** The item to select for an id: itself; for a leaf's tensor its node. */
  itemOf(id: string): string | undefined {
    const both = [id, ...this.partnersOf(id)];
    return both.find((known) => this.labelOf(known) !== undefined);
  }

  /** What there is at any step, each as it is first. */
  get everyItem(): readonly Item[] {
    const found = new Map<string, Item>();
    for (const [id, item] of this.recording.views.flatMap(({ items }) => Object.entries(items))) {
      if (item && !found.has(id)) found.set(id, item);
    }
    return [...found.values()];
  }

  /** The largest number of tensors at any step. */
  get mostTensors(): number {
    const alive = new Set<string>();
    let most = 0;
    for (const { tensors } of this.recording.views) {
      for (const [id, cells] of Object.entries(tensors)) {
        if (cells) alive.add(id);
        else alive.delete(id);
      }
      most = Math.max(most, alive.size);
    }
    return most;
  }
}

/** The id of a line: it is highlighted under this id. */
export function lineId({ code, line }: Pick<StepView, "code" | "line">): string {
  return line === null ? "" : `line:${code}:${line}`;
}

/** n0, n1, …, then t0, t1, …: the order of every list, at every step. */
export function inOrder<T>(known: ReadonlyMap<string, T>): (readonly [string, T])[] {
  const number = (id: string) => Number(id.slice(1)) || 0;
  return [...known].sort(
    ([a], [b]) => a.charCodeAt(0) - b.charCodeAt(0) || number(a) - number(b) || (a < b ? -1 : 1),
  );
}

/** Each node and tensor of a leaf -> the others on its card. */
function partnersIn({ links }: RecordingDocument): ReadonlyMap<string, readonly string[]> {
  const partners = new Map<string, string[]>();
  const add = (id: string, other: string) => partners.set(id, [...(partners.get(id) ?? []), other]);
  for (const [node, tensors] of Object.entries(links.leaves)) {
    for (const tensor of tensors) {
      add(node, tensor);
      add(tensor, node);
    }
  }
  return partners;
}
