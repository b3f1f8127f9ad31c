// StoreState: the traits shared with Python, the state of this view, and values derived from both.
// Panels read and watch the store and never talk to each other.

import { DENSITIES, type Density, type GraphContent } from "../documents/graph";
import { type AnyDocument, parseDocument } from "../documents/parse";
import { isDrawnIn } from "../documents/pictures";
import { isRecording, type RecordingDocument } from "../documents/recording";
import { isReport } from "../documents/report";
import type { Arrived, Chosen, Unfolding } from "./folds";
import { Folds, NOTHING_ARRIVED, openedNow, replaced } from "./folds";
import { Kernel } from "./kernel";
import { type Opened, Timeline } from "./timeline";

/** Of a message from the kernel it gets the content and the buffers, of a change nothing. */
export type Listener = (content?: unknown, buffers?: readonly DataView<ArrayBuffer>[]) => void;

/** The model that anywidget passes to render; exported pages implement it too. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, listener: Listener): void;
  off?(event: string, listener: Listener): void;
  /** Sends a message to the kernel; saved pages have none. */
  readonly send?: ((content: unknown) => void) | undefined;
}

/** Listens to a model until the signal ends. */
export function hear(model: Model, event: string, listener: Listener, signal: AbortSignal): void {
  model.on(event, listener);
  signal.addEventListener("abort", () => model.off?.(event, listener));
}

/** Mounts a widget of its own for the document of a model into an element. */
export type MountInside = (model: Model, el: HTMLElement, signal: AbortSignal) => void;

/** New values for inputs of a function. */
export interface Request {
  /** Counts the requests. */
  readonly turn: number;
  /** Name of the parameter, number of its part, value. */
  readonly values: readonly (readonly [string, number, unknown])[];
}

/** The open panel under the graph, "" if none is. */
export type Panel = "" | "tensors" | "memory" | "legend" | "outline";

export interface Local {
  readonly panel: Panel;
  /** The query of find. */
  readonly query: string;
  /** Id that the pointer or the focus is on, "" if none. */
  readonly lit: string;
  readonly playing: boolean;
  /** Whether details are shown also where nothing is selected. */
  readonly details: boolean;
  /** What is opened: places of the steps whose sub-steps are shown, and runs of folds. */
  readonly opened: ReadonlySet<number>;
  /** What a person opened and closed; undefined: nothing beside what the document opens with. */
  readonly unfolded: Chosen | undefined;
  /** Those that are open at first where there is little room; undefined: those of the document. */
  readonly narrow: ReadonlySet<string> | undefined;
  /** The fold that is the whole picture, "" for all of the graph. */
  readonly root: string;
  /** What came from the kernel after the document. */
  readonly arrived: Arrived;
  /** Folds whose inside the kernel is asked for. */
  readonly awaited: ReadonlySet<string>;
  /** Second end of the paths that are marked, the first is what is selected; "" if none. */
  readonly between: string;
  /** Which boxes stay closed although all were to be opened, and why; "" if none. */
  readonly limited: string;
}

/** Derived from the traits, never set. */
export interface Derived {
  /** The steps, undefined when a graph is shown. */
  readonly timeline: Timeline | undefined;
  /** Place of the step that is shown. */
  readonly at: number;
  /** Places of the steps that can be gone to one by one: with their sub-steps those that are
   * opened, and those that the step shown is inside of. */
  readonly visible: readonly number[];
  /** The content of the graph at this step. */
  readonly content: GraphContent;
  /** The density that is drawn: the chosen one, where the document has it. */
  readonly drawn: Density;
  /** What is open of a folded graph; undefined where nothing is folded. */
  readonly unfolding: Unfolding | undefined;
}

export type StoreState = Traits & Local & Derived;

/** Names are those of the Python traits. */
const TRAITS = {
  wire: parseDocument,
  selected: (value: unknown) => (typeof value === "string" ? value : ""),
  height: (value: unknown) => (typeof value === "number" && value > 0 ? value : 0),
  engine_arrows: (value: unknown) => value === true,
  /** "auto" for the one that the document opens with. */
  density: (value: unknown) => DENSITIES.find((known) => known === value) ?? "auto",
  /** The number of a step, 7 or "7.3"; -1 for the one the recording opens at. */
  step: (value: unknown) =>
    typeof value === "string" || (Number.isInteger(value) && (value as number) >= 0)
      ? (value as string | number)
      : -1,
  /** Whether all sub-steps are shown. */
  detail: (value: unknown) => value === true,
  /** Steps a second while playing. */
  speed: (value: unknown) => (typeof value === "number" && value > 0 ? Math.min(value, 20) : 1),
  /** The node around which a large graph is drawn, "" for its first nodes; undefined where Python
   * cannot draw another part. */
  focus: (value: unknown) => (typeof value === "string" ? value : undefined),
  /** Whether it is alone in a page that was saved, without a kernel. */
  page: (value: unknown) => value === true,
  /** What was asked of the function that is explored. */
  request: (value: unknown) => (value as Request | undefined) ?? { turn: 0, values: [] },
  /** Turn of the last request that Python answered; -1 where no Python is. */
  answered: (value: unknown) => (Number.isInteger(value) ? (value as number) : -1),
};
export type Traits = { readonly [K in keyof typeof TRAITS]: ReturnType<(typeof TRAITS)[K]> };

const FOLLOWS: { readonly [K in keyof Derived]: readonly (keyof Traits | keyof Local)[] } = {
  timeline: ["wire"],
  visible: ["wire", "step", "detail", "opened"],
  at: ["wire", "step"],
  content: ["wire", "step", "arrived"],
  drawn: ["wire", "density"],
  unfolding: ["wire", "step", "arrived", "unfolded", "narrow", "root"],
};
const NONE: ReadonlySet<number> = new Set();
const NO_FOLDS: ReadonlySet<string> = new Set();
/** Of folds, before anybody opens one. */
const FOLDED = {
  ...{ unfolded: undefined, narrow: undefined, root: "", arrived: NOTHING_ARRIVED },
  ...{ awaited: NO_FOLDS, between: "", limited: "" },
};
const FIRST: readonly number[] = [0];

/** Of a report without a graph. */
const NOTHING: GraphContent = {
  title: "",
  summary: "",
  items: [],
  outline: { columns: [], rows: [] },
};

export class Store {
  readonly kernel: Kernel;
  /** While listeners hear of a document: whether it is the one before with its other steps, so that
   * what is seen stays. */
  isRest = false;
  readonly #model: Model;
  readonly #signal: AbortSignal;
  readonly #onError: (error: unknown) => void;
  #local: Local = {
    panel: "",
    query: "",
    lit: "",
    playing: false,
    details: false,
    opened: NONE,
    ...FOLDED,
  };
  #wire: AnyDocument | undefined;
  #timeline: Timeline | undefined;
  #folds:
    | {
        readonly of: Arrived;
        readonly narrow: ReadonlySet<string> | undefined;
        readonly folds: Folds;
      }
    | undefined;
  #unfolding: { readonly of: Chosen | undefined; readonly now: Unfolding } | undefined;
  #content: { readonly of: Arrived; readonly content: GraphContent } | undefined;
  #listeners = new Map<keyof StoreState, Set<() => void>>();
  /** The derived values when listeners were last called. */
  readonly #told = new Map<keyof Derived, unknown>();

  constructor(model: Model, signal: AbortSignal, onError: (error: unknown) => void) {
    this.kernel = new Kernel(model, signal);
    this.#model = model;
    this.#signal = signal;
    this.#onError = onError;
    for (const name of Object.keys(TRAITS) as (keyof Traits)[]) {
      hear(model, `change:${name}`, () => this.#notify(name), signal);
    }
    signal.addEventListener("abort", () => this.#listeners.clear());
  }

  get<K extends keyof StoreState>(name: K): StoreState[K] {
    if (name === "wire") return this.#document() as StoreState[K];
    if (name in TRAITS) {
      return TRAITS[name as keyof Traits](this.#model.get(name)) as StoreState[K];
    }
    if (name in FOLLOWS) return this.#derive(name as keyof Derived) as StoreState[K];
    if (name === "opened" && this.#local.opened === NONE) {
      return (this.get("timeline")?.openedFirst ?? NONE) as StoreState[K];
    }
    return (this.#local as StoreState)[name];
  }

  set<K extends Exclude<keyof StoreState, "wire" | keyof Derived>>(
    name: K,
    value: StoreState[K],
  ): void {
    if (this.get(name) === value) return;
    if (name in TRAITS) {
      this.#model.set(name, value);
      this.#model.save_changes();
    } else {
      this.#local = { ...this.#local, [name]: value };
      this.#notify(name);
    }
  }

  /** Calls the listener now and at every change of these names, until the view closes. */
  watch(names: readonly (keyof StoreState)[], listener: () => void): void {
    for (const name of names) {
      const known = this.#listeners.get(name) ?? new Set();
      this.#listeners.set(name, known.add(listener));
      if (name in FOLLOWS) this.#told.set(name as keyof Derived, this.get(name));
    }
    listener();
  }

  /** Takes another document; where it is the one before with its other steps, all that a person has
   * opened stays open. */
  #take(): void {
    const before = this.#timeline;
    const { opened, unfolded, root, between } = this.#local;
    this.#wire = this.#timeline = undefined;
    this.#folds = this.#unfolding = this.#content = undefined;
    this.#local = { ...this.#local, opened: NONE, ...FOLDED };
    this.isRest = before?.recording.of !== undefined && isRecording(this.#document());
    const now = this.isRest ? this.get("timeline") : undefined;
    if (!before || !now) return;
    const places = [...opened].flatMap((place) => now.placeOf(before.nameOf(place)) ?? []);
    const kept = places.length ? new Set([...now.openedFirst, ...places]) : NONE;
    this.#local = { ...this.#local, unfolded, root, between, opened: kept };
  }

  #document(): AnyDocument {
    this.#wire ??= parseDocument(this.#model.get("wire"));
    return this.#wire;
  }

  #derive(name: keyof Derived): Derived[keyof Derived] {
    const wire = this.#document();
    if (name === "drawn") {
      const chosen = this.get("density");
      return chosen !== "auto" && isDrawnIn(wire, chosen) ? chosen : wire.density;
    }
    if (name === "unfolding") return this.#unfolds(wire);
    if (!isRecording(wire)) {
      const content = name === "content" ? this.#contentOf(wire) : NOTHING;
      return { timeline: undefined, at: 0, visible: FIRST, content }[name];
    }
    this.#timeline ??= new Timeline(wire);
    const timeline = this.#timeline;
    if (name === "timeline") return timeline;
    const step = this.get("step");
    const last = typeof step === "number" && step > timeline.count ? timeline.count : step;
    const at = timeline.placeOf(String(last)) ?? wire.open;
    if (name === "visible") return timeline.visible(this.#opened(timeline, at));
    return name === "at" ? at : timeline.content(at);
  }

  /** The graph of a document with what the kernel told later. */
  #contentOf(wire: Exclude<AnyDocument, RecordingDocument>): GraphContent {
    const content = isReport(wire) ? (wire.picture ?? NOTHING) : wire;
    const { arrived } = this.#local;
    if (!arrived.items.length) return content;
    if (this.#content?.of !== arrived) {
      const items = replaced(content.items, arrived.items);
      this.#content = { of: arrived, content: { ...content, items } };
    }
    return this.#content.content;
  }

  #unfolds(wire: AnyDocument): Unfolding | undefined {
    if (!wire.fold) return undefined;
    const { arrived, unfolded, narrow, root } = this.#local;
    if (this.#folds?.of !== arrived || this.#folds.narrow !== narrow) {
      const items = this.get("timeline")?.everyItem ?? this.get("content").items;
      const folds = new Folds(wire.fold, arrived, items, narrow);
      this.#folds = { of: arrived, narrow, folds };
    }
    const { folds } = this.#folds;
    const current = folds.currentAt(this.get("at"));
    const before = this.#unfolding;
    const isSame = before?.of === unfolded && before?.now.folds === folds;
    const isOpenSame = isSame && before.now.current === current;
    const chosen = unfolded ?? { opened: folds.first, closed: NO_FOLDS };
    const opened = isOpenSame ? before.now.opened : openedNow(chosen, current);
    const start = root || (opened.has(folds.top) ? folds.top : "");
    if (isOpenSame && before.now.root === start) return before.now;
    const now = { folds, opened, current, root: start };
    this.#unfolding = { of: unfolded, now };
    return now;
  }

  #opened(timeline: Timeline, at: number): Opened {
    if (this.get("detail")) return "all";
    const opened = this.get("opened");
    const around = timeline.around(at).filter((container) => !opened.has(container));
    return around.length ? new Set([...opened, ...around]) : opened;
  }

  #notify(name: keyof StoreState): void {
    if (this.#signal.aborted) return;
    try {
      if (name === "wire") this.#take();
      for (const listener of this.#listeners.get(name) ?? []) listener();
      for (const derived of Object.keys(FOLLOWS) as (keyof Derived)[]) {
        if (!FOLLOWS[derived].includes(name as keyof Traits | keyof Local)) continue;
        const value = this.#derive(derived);
        if (this.#told.has(derived) && value === this.#told.get(derived)) continue;
        this.#told.set(derived, value);
        for (const listener of this.#listeners.get(derived) ?? []) listener();
      }
    } catch (error) {
      this.#onError(error);
    }
    if (name === "wire") this.isRest = false;
  }
}
