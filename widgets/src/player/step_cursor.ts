// The current step and the moves to others, used by every control and key of the player.
import type { ExplanationCard } from "../documents/explanation";
import type { Store } from "../model/store";
import type { Explained, Timeline } from "../model/timeline";

/** Words for the kind of a step; lines and nodes have words of their own. */
const KINDS: Readonly<Record<string, string>> = {
  saved: "saved tensors read",
  hook: "hook",
  accumulate: "gradient accumulated",
  freed: "saved tensors freed",
};

export class StepCursor {
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

  /** Goes to a place among the visible steps, or the nearest. */
  show(place: number): void {
    const at = this.visible[Math.max(0, Math.min(place, this.last))];
    if (at !== undefined) this.#store.set("step", at);
  }

  /** The same by hand: playing stops. */
  go(place: number): void {
    this.#store.set("playing", false);
    this.show(place);
  }

  /** The number under which the current step is found again: "7", of a sub-step "7.3". */
  get number(): string {
    const at = this.#store.get("at");
    const steps = this.#timeline?.visible(false) ?? [0];
    const place = steps.findIndex((step) => step >= at);
    if (place < 0 || steps[place] === at) return String(place < 0 ? steps.length - 1 : place);
    return `${place}.${at - (steps[place - 1] ?? -1)}`;
  }

  /** Goes to the step with this number; false if there is none. */
  find(number: string): boolean {
    const steps = this.#timeline?.visible(false) ?? [];
    const [place = Number.NaN, part] = number.split(".").map(Number);
    const around = steps[place];
    if (around === undefined) return false;
    const index = part === undefined ? around : (steps[place - 1] ?? -1) + part;
    if (!Number.isInteger(index) || index > around || (part ?? 1) < 1) return false;
    this.#store.set("playing", false);
    if (index !== around) this.#store.set("detail", true);
    this.#store.set("step", index);
    return true;
  }

  /** To a step by its number in the recording. */
  jump(index: number): void {
    const place = this.visible.findIndex((step) => step >= index);
    this.go(place < 0 ? this.last : place);
  }

  /** Goes to the next step at which a line ran; after the last, to the first. */
  jumpToLine(line: string): void {
    const all = this.#timeline?.stepsOf(line, this.#store.get("detail")) ?? [];
    const next = all.find((index) => index > this.#store.get("at")) ?? all[0];
    if (next !== undefined) this.jump(next);
  }

  /** Explanations noticed at this step, or at a hidden sub-step of it. */
  get cards(): readonly ExplanationCard[] {
    return (
      this.#timeline?.explained.flatMap(({ card, step }) => (this.isAt(step) ? card : [])) ?? []
    );
  }

  /** Explanations whose culprit is this step, with their steps. */
  get causedHere(): readonly Explained[] {
    const all = this.#timeline?.explained ?? [];
    return all.filter(({ card }) => card.culprit_step !== null && this.isAt(card.culprit_step));
  }

  /** Whether a step is the current one or a sub-step of it. */
  isAt(step: number): boolean {
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

function whereOf(timeline: Timeline, index: number): readonly string[] {
  const view = timeline.view(index);
  const line = view.line === null ? [] : [`line ${view.line}`];
  if (view.level === 0 && view.kind === "line") return line;
  if (view.level === 0) return view.kind === "error" ? [...line, "error"] : [view.kind];
  const node = view.node === null ? [] : [timeline.labelOf(view.node) ?? view.node];
  return ["backward", ...node, ...(KINDS[view.kind] ? [KINDS[view.kind] as string] : [])];
}
