// The current step and the moves to others, used by every control and key of the player.
import type { ExplanationCard } from "../documents/explanation";
import type { FoldRun, Turn } from "../documents/recording";
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
    return this.#store.get("visible");
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
    if (at !== undefined) this.#set(at);
  }

  /** The same by hand: playing stops. */
  go(place: number): void {
    this.#store.set("playing", false);
    this.show(place);
  }

  /** The number under which the current step is found again: "7", of a sub-step "7.3". */
  get number(): string {
    return this.#timeline?.nameOf(this.#store.get("at")) ?? "0";
  }

  /** Goes to the step with this number; false if there is none. */
  find(number: string): boolean {
    const index = this.#timeline?.placeOf(number);
    if (index === undefined) return false;
    this.#store.set("playing", false);
    this.#set(index);
    return true;
  }

  /** To a step by its place in the recording, or the visible one that it is inside of. */
  jump(index: number): void {
    const place = this.visible.findIndex((step) => step >= index);
    this.go(place < 0 ? this.last : place);
  }

  /** Goes to the next step at which a line ran; after the last, to the first. */
  jumpToLine(line: string): void {
    const all = this.#timeline?.stepsOf(line, this.visible) ?? [];
    const next = all.find((index) => index > this.#store.get("at")) ?? all[0];
    if (next === undefined) return;
    this.#open(this.#timeline?.around(next) ?? []);
    this.jump(next);
  }

  /** The run of a fold that the current step stands for, while its steps are not shown. */
  get run(): FoldRun | undefined {
    return this.#runAt(this.#store.get("at"))?.run;
  }

  #runAt(step: number | undefined): { readonly run: FoldRun; readonly key: number } | undefined {
    if (step === undefined || this.#store.get("detail")) return undefined;
    return this.#timeline?.runAt(step, this.#store.get("opened"));
  }

  /** How many steps are inside the current step, or inside the run that it stands for, and are not
   * shown. */
  get hidden(): number {
    const { run } = this;
    if (run) return run.nodes;
    const { inside, isOpen } = this.#closed(this.#store.get("at"));
    return isOpen ? 0 : inside.length;
  }

  /** Whether sub-steps can be put away: the current step is one, or its own are shown. */
  get isInside(): boolean {
    return this.#opened !== undefined && !this.#store.get("detail");
  }

  /** Goes to the first sub-step of the current step, else of the next one; false if it has none. */
  stepInto(): boolean {
    for (const step of [this.#store.get("at"), this.visible[this.place + 1]]) {
      const closed = this.#runAt(step);
      if (closed) {
        this.#open([closed.key]);
        this.jump(closed.run.first);
        return true;
      }
      const { inside, isOpen } = this.#closed(step);
      const first = inside[0];
      if (step === undefined || first === undefined || isOpen) continue;
      this.#open([step]);
      this.jump(first);
      return true;
    }
    return false;
  }

  /** Puts sub-steps away and goes to the step that they are inside of; false if there is none. */
  stepOut(): boolean {
    const container = this.#opened;
    if (container === undefined || this.#store.get("detail")) return false;
    this.#store.set("playing", false);
    this.#set(this.#timeline?.endOf(container) ?? container);
    const rest = [...this.#store.get("opened")].filter((step) => step !== container);
    this.#store.set("opened", new Set(rest));
    return true;
  }

  /** Puts all sub-steps away and goes to the step that the current one is inside of. */
  closeAll(): void {
    const at = this.#store.get("at");
    const around = this.#timeline?.containersOf(at).at(-1);
    this.#set(around === undefined ? at : (this.#timeline?.endOf(around) ?? at));
    this.#store.set("opened", new Set());
  }

  #closed(step: number | undefined): { inside: readonly number[]; isOpen: boolean } {
    const inside = step === undefined ? [] : (this.#timeline?.inside(step) ?? []);
    return { inside, isOpen: inside[0] !== undefined && this.visible.includes(inside[0]) };
  }

  /** The opened step that is shown, or that the step shown is inside of. */
  get #opened(): number | undefined {
    const at = this.#store.get("at");
    const opened = this.#store.get("opened");
    if (this.#closed(at).isOpen) return at;
    const around = this.#timeline?.containersOf(at) ?? [];
    return around.find((key) => opened.has(key) || this.#timeline?.around(at).includes(key));
  }

  #open(steps: readonly number[]): void {
    const opened = this.#store.get("opened");
    if (steps.every((step) => opened.has(step))) return;
    this.#store.set("opened", new Set([...opened, ...steps]));
  }

  #set(at: number): void {
    const name = this.#timeline?.nameOf(at) ?? "0";
    this.#store.set("step", name.includes(".") ? name : Number(name));
  }

  /** Explanations noticed at this step, or at a hidden sub-step of it. */
  get cards(): readonly ExplanationCard[] {
    return (
      this.#timeline?.explained.flatMap(({ card, step }) => (this.isAt(step) ? card : [])) ?? []
    );
  }

  /** What is worth a look at this step, or at a hidden sub-step of it. */
  get notes(): readonly ExplanationCard[] {
    return this.#timeline?.noted.flatMap(({ card, step }) => (this.isAt(step) ? card : [])) ?? [];
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

  /** "step 7 of 15", of a sub-step "step 7.3 of 15". */
  get count(): string {
    const timeline = this.#timeline;
    return `step ${timeline?.nameOf(this.#store.get("at")) ?? 0} of ${timeline?.count ?? 0}`;
  }

  /** Where in the program the step is: "line 3", "backward · MulBackward0". */
  get where(): readonly string[] {
    const at = this.#store.get("at");
    if (!this.#timeline) return [];
    const { run, turns } = this;
    const where = run ? ["backward", run.label] : whereOf(this.#timeline, at);
    return [...where, ...(turns ? [turns] : [])];
  }

  /** Which turns of loops the step is in: "turn 2 of 4", inside of others "turn 1 of 2 › turn 3 of 8". */
  get turns(): string {
    const turns = this.#timeline?.turnsAt(this.#store.get("at")) ?? [];
    return turns.map(turnWords).join(" › ");
  }

  get #timeline(): Timeline | undefined {
    return this.#store.get("timeline");
  }
}

/** "turn 2 of 4", of many that are counted "turns 10 to 970 of 1000"; less where less is known. */
export function turnWords({ number, count, times }: Turn): string {
  const of = count === null ? "" : ` of ${count}`;
  if (number === null) return times > 1 ? `${times} turns` : "a turn";
  return times > 1 ? `turns ${number} to ${number + times - 1}${of}` : `turn ${number}${of}`;
}

function whereOf(timeline: Timeline, index: number): readonly string[] {
  const view = timeline.view(index);
  const of = view.code > 0 ? ` of ${timeline.recording.codes[view.code]?.name}` : "";
  const line = view.line === null ? [] : [`line ${view.line}${of}`];
  if (view.level === 0 && view.kind === "line") return line;
  if (view.level === 0) return view.kind === "error" ? [...line, "error"] : [view.kind];
  const node = view.node === null ? [] : [timeline.labelOf(view.node) ?? view.node];
  return ["backward", ...node, ...(KINDS[view.kind] ? [KINDS[view.kind] as string] : [])];
}
