// Going from step to step; what every control and key of the player uses.
import type { CardWire } from "./card_wire";
import type { Store } from "./store";
import { type Explained, lineOf, type Timeline } from "./timeline";

/** Words for what kind of step it is; a line and a node say more than their kind. */
const KINDS: Readonly<Record<string, string>> = {
  saved: "saved tensors read",
  hook: "hook",
  accumulate: "gradient accumulated",
  freed: "saved tensors freed",
};

export class Steps {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get visible(): readonly number[] {
    return this.#timeline?.visible(this.#store.get("detail")) ?? [0];
  }

  /** Place of the current step among the visible ones, from 0: the state before the code ran. */
  get place(): number {
    return this.visible.indexOf(this.#store.get("at"));
  }

  get last(): number {
    return this.visible.length - 1;
  }

  /** Goes to a place among the visible steps, as near as there is one. */
  go(place: number): void {
    const at = this.visible[Math.max(0, Math.min(place, this.last))];
    if (at !== undefined) this.#store.set("step", at);
  }

  /** The same by hand: whatever plays stops. */
  take(place: number): void {
    this.#store.set("playing", false);
    this.go(place);
  }

  /** To a step by its number in the recording. */
  jump(index: number): void {
    const place = this.visible.findIndex((step) => step >= index);
    this.take(place < 0 ? this.last : place);
  }

  /** To the next time a line has run; after the last time to the first. */
  jumpToLine(line: string): void {
    const all = this.#timeline?.stepsOf(line, this.#store.get("detail")) ?? [];
    const next = all.find((index) => index > this.#store.get("at")) ?? all[0];
    if (next !== undefined) this.jump(next);
  }

  /** Explanations of what was noticed at this step, or in a part of it that is not shown. */
  get cards(): readonly CardWire[] {
    return (
      this.#timeline?.explained.flatMap(({ card, step }) => (this.#here(step) ? card : [])) ?? []
    );
  }

  /** Explanations, and their steps, of which this step is the culprit. */
  get causedHere(): readonly Explained[] {
    const all = this.#timeline?.explained ?? [];
    return all.filter(({ card }) => card.culprit_step !== null && this.#here(card.culprit_step));
  }

  /** Whether a step is the one that is shown, or a part of it. */
  #here(step: number): boolean {
    return step > (this.visible[this.place - 1] ?? -1) && step <= this.#store.get("at");
  }

  /** "step 7 of 15". */
  get count(): string {
    return `step ${this.place} of ${this.last}`;
  }

  /** Where in the program the step is: "line 3", "backward · MulBackward0". */
  get where(): readonly string[] {
    return this.#timeline ? whereOf(this.#timeline, this.#store.get("at")) : [];
  }

  get #timeline(): Timeline | undefined {
    return this.#store.get("timeline");
  }
}

export function whereOf(timeline: Timeline, index: number): readonly string[] {
  const view = timeline.view(index);
  const line = view.line === null ? [] : [`line ${view.line}`];
  if (view.level === 0 && view.kind === "line") return line;
  if (view.level === 0) return view.kind === "error" ? [...line, "error"] : [view.kind];
  const node = view.node === null ? [] : [timeline.labelOf(view.node) ?? view.node];
  return ["backward", ...node, ...(KINDS[view.kind] ? [KINDS[view.kind] as string] : [])];
}

/** What a step is about, the most telling first: the node that ran, or what the line has made. */
export function aboutOf(timeline: Timeline, index: number): readonly string[] {
  const view = timeline.view(index);
  if (view.node !== null) return [view.node];
  if (view.kind === "start") return [];
  const told = view.caption.flatMap((part) => (typeof part === "string" ? [] : [part.id]));
  const nodes = told.filter((id) => id.startsWith("n"));
  const others = told.filter((id) => id.startsWith("t")).map((id) => timeline.itemOf(id) ?? id);
  // A line in a loop has made more with every turn: the newest is what it has just made.
  const made = timeline.wire.links.lines[lineOf(view).slice(5)] ?? [];
  return nodes.length || others.length ? [...nodes, ...others] : [...made].reverse();
}

/** Ids that light up together with one: a line with all that was made in it, a leaf's tensor. */
export function lightOf(timeline: Timeline | undefined, lit: string): ReadonlySet<string> {
  const light = new Set(lit ? [lit] : []);
  if (!timeline || !lit) return light;
  const { lines } = timeline.wire.links;
  if (lit.startsWith("line:")) for (const id of lines[lit.slice(5)] ?? []) light.add(id);
  else for (const id of timeline.twins.get(lit) ?? []) light.add(id);
  if (lit.startsWith("line:")) return light;
  for (const [line, ids] of Object.entries(lines)) {
    if (ids.some((id) => light.has(id))) light.add(`line:${line}`);
  }
  return light;
}
