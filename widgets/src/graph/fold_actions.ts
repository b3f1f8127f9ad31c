// Opening and closing boxes of a folded graph, in this view only. The store has what is open, the graph
// panel draws it.

import { fold as foldCheck, insides as insidesCheck } from "../documents/folds";
import { byDensity, item as itemCheck } from "../documents/graph";
import { listOf, mapOf, recordOf, text, whole } from "../documents/validators";
import { type Level, MOST_CARDS, openedAt } from "../model/fold_levels";
import { type Arrived, choose, NOTHING_ARRIVED, type Unfolding, withArrived } from "../model/folds";
import { cancelled, type Question } from "../model/kernel";
import type { ArrivedLooks } from "../model/timeline";
import type { PanelContext } from "../panel_context";

/** Milliseconds after which it is said why an answer does not come. */
const PATIENCE = 2500;
const BUSY =
  "No answer yet: the kernel is busy, or the cell has not run in it. What it answers is shown when " +
  "it comes; click again to wait no longer.";

/** A step, and the variants that begin at it. */
const stepAt = (value: unknown) =>
  Array.isArray(value) && value.length === 2 && whole(value[0]) && mapOf(whole)(value[1]);

/** Each part may be absent. */
const answerCheck = recordOf({
  insides: (value) => value === undefined || byDensity(insidesCheck)(value),
  items: (value) => value === undefined || listOf(itemCheck)(value),
  folds: (value) => value === undefined || listOf(foldCheck)(value),
  more: (value) => value === undefined || whole(value),
  find: (value) => value === undefined || text(value),
  looks: (value) => value === undefined || byDensity(mapOf(listOf(listOf(whole))))(value),
  pieces: (value) => value === undefined || listOf(text)(value),
  at: (value) => value === undefined || byDensity(listOf(stepAt))(value),
});

export class FoldActions {
  readonly #context: PanelContext;
  /** What the kernel is asked for, by the fold. */
  readonly #asked = new Map<string, AbortController>();
  #finding: { readonly find: string; readonly answer: Promise<boolean> } | undefined;
  /** The level that was asked for last. */
  #level: Level | undefined;

  constructor(context: PanelContext) {
    this.#context = context;
    const { store } = context;
    store.watch(["wire"], () => {
      const asked = store.isRest ? [...this.#asked.keys()] : [];
      this.#cancelAll();
      for (const id of asked) void this.reveal(id);
    });
    let isKnown = false;
    // Whoever selects something sees it: find, the outline, the details, Python.
    store.watch(["selected", "wire"], () => {
      const selected = store.get("selected");
      if (!(store.isRest && isKnown)) void this.show(selected);
      isKnown = this.#now?.folds.item(selected) !== undefined;
    });
    store.watch(["focus", "wire"], () => void this.show(store.get("focus") ?? ""));
  }

  get #now(): Unfolding | undefined {
    return this.#context.store.get("unfolding");
  }

  /** Unfolds a closed box, folds an open one, cancels one that is waited for. */
  toggle(id: string): void {
    const now = this.#now;
    const fold = now?.folds.get(id);
    if (!now || !fold) return;
    if (this.#asked.has(id)) {
      this.#cancel(id);
      this.#context.announce(`${fold.label}: no longer waited for`);
    } else if (now.opened.has(id) && (id !== now.root || id === now.folds.top)) this.fold(id);
    else void this.unfold([id]);
  }

  /** Closes a box. */
  fold(id: string): void {
    const now = this.#now;
    if (!now?.opened.has(id)) return;
    this.#open([...now.opened].filter((one) => one !== id));
    this.#context.announce(`folded: ${now.folds.get(id)?.label ?? id}`);
  }

  /** Opens boxes, the outer ones first; says whether all of them are open now. */
  async unfold(ids: readonly string[]): Promise<boolean> {
    const now = this.#now;
    if (!now) return false;
    for (const id of ids) {
      if (now.folds.isKnown(id)) continue;
      if (!(await this.#fetch([id]))) return false;
    }
    const later = this.#now;
    if (!later) return false;
    if (ids.every((id) => later.opened.has(id))) return true;
    this.#open([...later.opened, ...ids]);
    const last = later.folds.get(ids.at(-1) ?? "");
    if (last) this.#context.announce(`unfolded: ${last.label}, ${last.members} inside`);
    return true;
  }

  /** Opens what is around a node or a fold, so that it is seen itself. */
  async show(id: string): Promise<boolean> {
    if (!id || !this.#now) return false;
    // What is not listed has no place: the kernel says where it is.
    if (!this.#now.folds.item(id) && !this.#now.folds.get(id) && this.hasMore) await this.find(id);
    const now = this.#now;
    if (!now) return false;
    const around = now.folds.around(id);
    if (!around.length && id !== now.folds.top) return false;
    if (now.root && id !== now.root && !around.includes(now.root)) this.#setRoot(now, around);
    const closed = around.filter((fold) => !now.opened.has(fold));
    return closed.length ? this.unfold(closed) : true;
  }

  /** Opens a box and all that is around it. */
  async reveal(id: string): Promise<void> {
    if (await this.show(id)) await this.unfold([id]);
  }

  /** Makes a fold the whole picture. */
  async only(id: string): Promise<void> {
    const now = this.#now;
    const fold = now?.folds.get(id);
    if (!now || !fold) return;
    if (!now.folds.isKnown(id) && !(await this.#fetch([id]))) return;
    const { store, announce } = this.#context;
    store.set("root", id === now.folds.top ? "" : id);
    if (!now.opened.has(id)) this.#open([...now.opened, id]);
    announce(id === now.folds.top ? "all of the graph" : `only ${fold.label}`);
  }

  /** Only the fold that an item is or is in; where that is shown alone already, all of the graph. */
  toggleOnly(id: string): void {
    const now = this.#now;
    if (!now) return;
    const fold = now.folds.get(id) ? id : (now.folds.around(id).at(-1) ?? now.root);
    void this.only(fold === now.root ? now.folds.top : fold);
  }

  /** Closes the innermost open box around something, and says which. */
  foldAround(id: string): string {
    const now = this.#now;
    const around = [...(now?.folds.around(id) ?? []), id];
    const inside = around.slice(around.indexOf(now?.root ?? "") + 1);
    const inner = inside.findLast((fold) => now?.opened.has(fold));
    if (inner) this.fold(inner);
    return inner ?? "";
  }

  /** Opens the boxes around a node, and around all that it is joined to. */
  async neighbourhood(id: string): Promise<void> {
    const now = this.#now;
    const item = now?.folds.item(id);
    if (!now || !item) return;
    const ids = [id, ...item.next, ...item.prev];
    const around = new Set(ids.flatMap((one) => now.folds.around(one)));
    if (now.root && !now.folds.around(id).includes(now.root)) {
      this.#setRoot(now, now.folds.around(id));
    }
    // An outer fold has a shorter way from the whole graph.
    const outer = [...around].sort(
      (one, other) => now.folds.around(one).length - now.folds.around(other).length,
    );
    if (await this.unfold(outer.filter((fold) => !now.opened.has(fold)))) {
      const count = new Set(ids).size - 1;
      this.#context.announce(`${item.label} and what it is joined to: ${count}`);
    }
  }

  /** Opens and closes boxes all over the picture; asked again while it waits, it stops waiting. */
  async level(level: Level): Promise<void> {
    const { store, announce } = this.#context;
    const isAgain = this.#asked.size > 0 && this.#level === level;
    this.#cancelAll();
    this.#level = level;
    if (isAgain) return announce("no longer waited for");
    if (level === "first") store.set("root", "");
    for (let now = this.#now; now && this.#level === level; now = this.#now) {
      const { ids, missing, left } = openedAt(now, level);
      if (missing.length && this.answers) {
        if (await this.#fetch(missing)) continue;
        break;
      }
      this.#open(ids);
      this.#level = undefined;
      const count = (boxes: number) => boxes.toLocaleString("en");
      const stay = (boxes: number) => `${count(boxes)} ${boxes === 1 ? "box stays" : "boxes stay"}`;
      const limits = [
        left ? `${stay(left)} folded: at most ${count(MOST_CARDS)} cards are drawn` : "",
        missing.length ? `${stay(missing.length)} folded: ${now.folds.limit}` : "",
      ].filter(Boolean);
      store.set("limited", limits.join("; "));
      const done = level === "none" ? "folded" : `unfolded: ${count(ids.size)}`;
      return announce([done, ...limits].join("; "));
    }
  }

  /** Whether somebody knows the insides that are not here. */
  get answers(): boolean {
    return this.#context.store.kernel.isThere;
  }

  /** Whether the kernel knows nodes that are not listed: of a recording all are. */
  get hasMore(): boolean {
    const { store } = this.#context;
    if (store.get("timeline")) return false;
    const now = this.#now;
    const all = now?.folds.get(now.folds.top)?.nodes ?? 0;
    const listed = store.get("content").items.filter(({ kind }) => LISTED.has(kind)).length;
    return this.answers && all > listed;
  }

  /** How many nodes a query finds in the kernel beside those that came. */
  left(query: string): number {
    const { find, more = 0 } = this.#context.store.get("arrived");
    return find === query.trim() ? more : 0;
  }

  /** Lets the kernel find what is not listed; its items are in the content then. */
  find(query: string): Promise<boolean> {
    const find = query.trim();
    if (!find || !this.hasMore) return Promise.resolve(true);
    // A second request for the same words would end the first, and whoever waits for that.
    if (this.#asked.has("") && this.#finding?.find === find) return this.#finding.answer;
    this.#cancel("");
    const answer = this.#ask("", { find });
    this.#finding = { find, answer };
    return answer;
  }

  #setRoot(now: Unfolding, around: readonly string[]): void {
    const above = now.folds.around(now.root);
    const common = above.findLast((fold) => around.includes(fold)) ?? now.folds.top;
    this.#context.store.set("root", common === now.folds.top ? "" : common);
  }

  #open(ids: Iterable<string>): void {
    const { store } = this.#context;
    const now = this.#now;
    if (!now) return;
    const before = store.get("unfolded") ?? { opened: now.folds.first, closed: new Set() };
    store.set("unfolded", choose(before, now.current, ids));
    store.set("limited", "");
  }

  #cancelAll(): void {
    for (const id of [...this.#asked.keys()]) this.#cancel(id);
  }

  #cancel(id: string): void {
    this.#asked.get(id)?.abort();
    this.#settle(id);
  }

  /** Says why something stays closed, also above the picture. */
  #say(words: string): void {
    this.#context.store.set("limited", words);
    this.#context.announce(words);
  }

  #settle(id: string): void {
    this.#asked.delete(id);
    const { store } = this.#context;
    if (store.get("limited") === BUSY) store.set("limited", "");
    const awaited = store.get("awaited");
    if (awaited.has(id)) store.set("awaited", new Set([...awaited].filter((one) => one !== id)));
  }

  /** Asks for insides; says whether the first one is there then. */
  async #fetch(ids: readonly string[]): Promise<boolean> {
    const { store, announce } = this.#context;
    const folds = this.#now?.folds;
    const [id = ""] = ids;
    const label = folds?.get(id)?.label ?? id;
    if (!this.answers) {
      this.#say(folds?.limit || `${label}: its inside is not here; a kernel is needed to see it`);
      return false;
    }
    store.set("awaited", new Set([...store.get("awaited"), id]));
    const what = ids.length > 1 ? `the insides of ${ids.length} boxes` : `the inside of ${label}`;
    announce(`asks the kernel for ${what}`);
    return (await this.#ask(id, { inside: ids })) && this.#isKnown(id);
  }

  #isKnown(id: string): boolean {
    return this.#now?.folds.isKnown(id) ?? false;
  }

  async #ask(id: string, question: Question): Promise<boolean> {
    const { store } = this.#context;
    this.#asked.get(id)?.abort();
    const end = new AbortController();
    this.#asked.set(id, end);
    const timer = setTimeout(() => store.set("limited", BUSY), PATIENCE);
    end.signal.addEventListener("abort", () => clearTimeout(timer));
    try {
      // The kernel answers about all steps: it is asked when they are here.
      const isPart = store.get("timeline")?.recording.of !== undefined;
      const sent = isPart ? cancelled(end.signal) : store.kernel.ask(question, end.signal);
      const answer = parseAnswer(await sent);
      if (end.signal.aborted) return false;
      this.#settle(id);
      const { looks, ...arrived } = answer;
      if (looks) store.get("timeline")?.add(looks);
      store.set("arrived", withArrived(store.get("arrived"), arrived));
      return true;
    } catch (error) {
      if (end.signal.aborted) return false;
      this.#settle(id);
      this.#say(error instanceof Error ? error.message : String(error));
      return false;
    } finally {
      clearTimeout(timer);
    }
  }
}

const LISTED: ReadonlySet<string> = new Set(["node", "leaf"]);

/** Throws a sentence if something that the kernel sent cannot be relied on. */
function parseAnswer(
  bytes: DataView<ArrayBuffer>,
): Arrived & { readonly looks?: ArrivedLooks | undefined } {
  const answer: unknown = JSON.parse(new TextDecoder().decode(bytes));
  if (!answerCheck(answer)) throw new Error("what the kernel sent is damaged: run the cell again");
  const { looks, pieces = [], at = {}, ...arrived } = answer as Partial<Arrived & ArrivedLooks>;
  const known = looks && { looks, pieces, at };
  return { ...NOTHING_ARRIVED, ...arrived, looks: known };
}
