// Shows the picture, follows the steps, highlights selected, found and hovered items, moves the
// focus.

import type { GraphContent, Item } from "../documents/graph";
import { isReport } from "../documents/report";
import { claim, html } from "../lib/dom";
import { relatedTo, subjectsOf } from "../model/related";
import { findItems } from "../model/search";
import type { Timeline } from "../model/timeline";
import type { PanelContext } from "../panel_context";
import type { Box } from "./camera";
import { compositionOf, patchesOf } from "./composed_svg";
import { makeCrumbs } from "./crumbs";
import { makeExtent } from "./extent";
import { fitted } from "./fitted";
import { FoldActions } from "./fold_actions";
import { actAt, addSigns, showCounts, showStates, spotOf } from "./fold_signs";
import { joinedIn, withJoined } from "./joined";
import { areJoined, type Folded, markChosen } from "./marks";
import { makeMinimap } from "./minimap";
import { Motion } from "./motion";
import { flowOf, moveOf, neighbour } from "./navigation";
import { followPointer, type Picture, parsePicture } from "./picture";
import { countsOf, heldIn, looksAt, type Shown, textOf } from "./shown";
import { addRing, SvgIndex } from "./svg_index";
import { FullLooks, Unfolded } from "./unfolded";
import { type Shapes, Viewport } from "./viewport";

/** The least zoom at which a folded picture opens. */
const WHOLE = 0.7;

export interface GraphPanel {
  readonly element: HTMLElement;
  readonly viewport: Viewport;
  readonly folds: FoldActions;
  /** The item that the focus is on, else the selected one; "" if none. */
  current(): string;
  /** Whether the picture has an element of this class now. */
  draws(name: string): boolean;
  focus(): void;
  /** Selects an item, shows it large enough to be read, and moves the focus to its card. */
  reach(id: string): Promise<void>;
}

export function makeGraph(context: PanelContext): GraphPanel {
  const { store, prefix, tooltip } = context;
  const viewport = new Viewport(context);
  // Before anything is drawn: what is selected opens what is around it.
  const actions = new FoldActions(context);
  const showMinimap = makeMinimap(viewport);
  const hint = html("p", { id: `${prefix}-hint`, class: "gradviz-hidden" });
  store.watch(["wire"], () => {
    const enter = store.get("wire").fold
      ? "Enter unfolds a box or selects a node"
      : "Enter selects";
    hint.textContent = `Arrow keys follow the edges, ${enter}, question mark lists all keys.`;
  });
  const element = html(
    "div",
    { class: "gradviz-graph" },
    makeCrumbs(context, actions),
    viewport.element,
    makeExtent(context),
    hint,
  );

  const index = new SvgIndex();
  let picture: Picture;
  /** Element -> its current variant. */
  let variants = new Map<string, number>();
  /** The text of an element of the picture, of its look. */
  let patched = patchesOf(undefined, true);
  let content: GraphContent | undefined;
  let boxes: Map<string, Box> | undefined;
  let trail: string[] = [];
  const motion = new Motion();

  /** Where the focus enters: the existing item that was visited last. */
  const current = () =>
    trail.findLast((id) => index.cards.has(id)) ?? [...index.cards.keys()][0] ?? "";
  const setStop = () => {
    const stop = current();
    for (const [id, card] of index.cards) card.setAttribute("tabindex", id === stop ? "0" : "-1");
  };
  const visit = (id: string) => {
    trail = [...trail.filter((known) => known !== id), id].slice(-50);
    setStop();
  };

  const boxOf = (shape: SVGGElement) => viewport.boxOf(spotOf(shape));
  const measure = () => {
    boxes ??= new Map([...index.cards].map(([id, shape]) => [id, boxOf(shape)]));
    return boxes;
  };

  /** Where there is little room, fewer boxes are open at first. */
  const fitFirst = () => {
    const [unfolding, density] = [store.get("unfolding"), store.get("drawn")];
    const { width } = viewport.room;
    if (!width || !unfolding || store.get("timeline") || isReport(store.get("wire"))) return;
    const { folds } = unfolding;
    const wide = (opened: ReadonlySet<string>) =>
      compositionOf({ ...unfolding, opened, root: folds.top }, density).width;
    const found = fitted(folds, wide, width / WHOLE);
    if (found.size !== folds.first.size) {
      store.set("narrow", found.size === folds.opening.size ? undefined : found);
    }
  };

  store.watch(["wire", "drawn"], fitFirst);

  /** The card in the middle of the window, and its box. */
  const middle = () => {
    const { x, y, width, height } = viewport.window.box;
    const far = ({ x: left, y: top, width: wide, height: high }: Box) =>
      Math.hypot(left + wide / 2 - x - width / 2, top + high / 2 - y - height / 2);
    return [...measure()].sort(([, one], [, other]) => far(one) - far(other))[0];
  };

  let looks: FullLooks;
  let shown: Shown | undefined;
  store.watch(["wire", "drawn", "unfolding"], () => {
    const unfolding = store.get("unfolding");
    const [wire, density] = [store.get("wire"), store.get("drawn")];
    const before = shown;
    const isNew = before?.wire !== wire;
    if (!isNew && before.density === density && before.unfolding === unfolding) return;
    const composition = unfolding && compositionOf(unfolding, density);
    shown = { wire, density, unfolding, composition };
    if (isNew) looks = new FullLooks(wire);
    const [seen, place] = (store.isRest && middle()) || [];
    const hadFocus = element.contains(document.activeElement);
    const focused = index.at(document.activeElement);
    const look = looksAt(wire, density, store.get("timeline"), store.get("at"));
    picture = parsePicture(textOf(shown, look), prefix);
    if (unfolding) addSigns(picture, unfolding);
    const isFolded = unfolding !== undefined && look !== undefined;
    const drawn = isFolded ? store.get("timeline")?.state(store.get("at")).at.get(density) : [];
    variants = new Map(drawn);
    patched = patchesOf(composition, unfolding?.folds.direction !== "LR");
    content = undefined;
    // In another density the same cards are there.
    if (isNew && !store.isRest) trail = [];
    refresh();
    // Not in another density, which is what a person chose.
    const isFitted = !isNew && before.unfolding?.folds.first.size !== unfolding?.folds.first.size;
    const isSame =
      store.isRest || (unfolding && !isNew && !isFitted && before.density === density) === true;
    // A step that opens another box leads to what it is about.
    const isStep = before?.unfolding?.current !== unfolding?.current;
    const held = isNew || isFitted || isStep ? undefined : heldIn(before, shown);
    viewport.cards = isFolded
      ? composition?.parts.filter((part) => part.kind === "card")
      : undefined;
    if (held) viewport.replace(picture.svg, subject, ...held);
    else {
      const card = index.cards.get(seen ?? "");
      const stays = card && place && { card: spotOf(card), before: place };
      viewport.show(picture.svg, subject, { whole: unfolding && WHOLE, isSame, stays });
    }
    showMinimap(composition);
    if (hadFocus) (index.ownerOf(focused) ?? index.cards.get(current()))?.focus();
    const selected = store.get("selected");
    const appears = (at: Shown | undefined) =>
      at?.unfolding !== undefined &&
      at.unfolding.folds.shownFor(selected, at.unfolding) === selected;
    const shape = appears(before) || !appears(shown) ? undefined : index.ownerOf(selected);
    if (selected && shape) viewport.follow(boxOf(shape));
  });
  let before: GraphContent | undefined;
  store.watch(["content"], () => {
    const isStep = before !== store.get("content") && !store.isRest;
    if (isStep) motion.begin();
    refresh();
    motion.play();
    // The cards that a step makes are there now.
    if (before && isStep && store.get("timeline")) viewport.followSubject();
    before = content;
  });

  /** Shows the current step in the picture. */
  function refresh(): void {
    if (content === store.get("content")) return;
    content = store.get("content");
    const focused = index.at(document.activeElement);
    const timeline = store.get("timeline");
    const density = store.get("drawn");
    for (const [key, variant] of timeline?.state(store.get("at")).at.get(density) ?? []) {
      if (variants.get(key) === variant) continue;
      variants.set(key, variant);
      const look = timeline ? timeline.look(density, key, variant) : "";
      const text = patched(key, look);
      if (text === undefined) continue;
      picture.patch(key, text, (target) => motion.changes(target));
    }
    if (timeline && shown?.unfolding) addSigns(picture, shown.unfolding);
    if (timeline) picture.svg.setAttribute("aria-label", content.summary);
    const { unfolding, composition } = shown ?? {};
    if (unfolding && composition) {
      const items = withJoined(content.items, joinedIn(composition));
      index.read(picture.svg, items, (id) => unfolding.folds.shownFor(id, unfolding));
    } else index.read(picture.svg, content.items);
    boxes = undefined;
    tooltip.hide();
    setStop();
    // The focused item may have been removed or redrawn.
    const heir = focused ? index.cards.get(current()) : undefined;
    if (heir && heir !== document.activeElement) heir.focus();
    else if (heir) addRing(heir);
  }

  /** What the window is about: in a recording that of the step, whatever was shown before. */
  function subject(): Shapes | undefined {
    const wire = store.get("wire");
    const timeline = store.get("timeline");
    const ids = timeline
      ? [foldOfRun(), ...latestSubjects(timeline, store.get("at"))]
      : [store.get("selected"), ...(isReport(wire) ? wire.marked : [])];
    const card =
      firstOf(ids) ?? (timeline ? [...index.cards.values()][0] : index.cards.get(current()));
    if (!card) return undefined;
    const item = index.item(card.dataset.id ?? "");
    const joined = [...(item?.next ?? []), ...(item?.prev ?? [])].map((id) => index.ownerOf(id));
    const around = joined.filter((shape) => shape !== undefined);
    // What is joined to nothing is seen with everything else that is there.
    return { card, around: around.length ? around : [...index.cards.values()] };
  }

  /** The box of the run that the step stands for, "" if it stands for itself. */
  function foldOfRun(): string {
    const opened = store.get("detail") ? "all" : store.get("opened");
    return store.get("timeline")?.runAt(store.get("at"), opened)?.run.fold ?? "";
  }
  let openedBefore = store.get("opened");
  // The nodes of a run are seen one by one where its box is open.
  store.watch(["opened"], () => {
    const [before, now] = [openedBefore, store.get("opened")];
    openedBefore = now;
    const timeline = store.get("timeline");
    const folds = (keys: Iterable<number>) =>
      [...keys].map((key) => timeline?.foldOf(key) ?? "").filter(Boolean);
    for (const fold of folds([...before].filter((key) => !now.has(key)))) actions.fold(fold);
    for (const fold of folds([...now].filter((key) => !before.has(key)))) void actions.reveal(fold);
  });

  function firstOf(ids: readonly string[]): SVGGElement | undefined {
    return ids.map((id) => index.ownerOf(id)).find((shape) => shape !== undefined);
  }

  /** The subjects of a step; of one that has none in the picture, those of the step before. */
  function latestSubjects(timeline: Timeline, at: number): readonly string[] {
    for (let step = at; step >= 0; step -= 1) {
      const ids = subjectsOf(timeline, step);
      if (firstOf(ids)) return ids;
    }
    return [];
  }

  store.watch(["wire", "drawn", "engine_arrows"], () => {
    picture.svg.classList.toggle("gv-engine", store.get("engine_arrows"));
  });
  store.watch(["content", "drawn", "query", "unfolding"], () => {
    const found = findItems(index.items, store.get("query"));
    index.highlight(
      "is-match",
      found.map(({ id }) => id),
    );
    const { unfolding } = shown ?? {};
    if (unfolding) showCounts(picture.svg, countsOf(found, unfolding));
  });
  store.watch(["content", "drawn", "lit", "unfolding"], () => {
    index.highlight("is-lit", relatedTo(store.get("timeline"), store.get("lit")));
  });
  store.watch(["content", "awaited", "drawn", "unfolding"], () => {
    const { unfolding } = shown ?? {};
    if (!unfolding) return;
    // What is hidden itself is waited for in the box that it is in.
    const boxes = [...store.get("awaited")].map((id) => unfolding.folds.shownFor(id, unfolding));
    showStates(picture, unfolding, new Set(boxes), actions.answers);
  });
  const folded = (): Folded | undefined => {
    const { unfolding, composition } = shown ?? {};
    return unfolding && composition ? { unfolding, composition } : undefined;
  };
  store.watch(["selected"], () => store.set("between", ""));
  store.watch(["content", "drawn", "selected", "between", "unfolding"], () => {
    const chosen = { selected: store.get("selected"), between: store.get("between") };
    markChosen(picture.svg, index, store.get("content").items, chosen, folded());
  });
  function revealSelected(): void {
    const shape = index.ownerOf(store.get("selected"));
    if (!shape) return;
    visit(shape.dataset.id ?? "");
    viewport.reveal(boxOf(shape));
  }
  store.watch(["wire", "drawn", "selected"], () => store.isRest || revealSelected());
  viewport.onShow = () => {
    index.addRings();
    fitFirst();
  };

  const unfolded = new Unfolded();
  /** Unfolds the selected card. */
  function unfold(): void {
    const timeline = store.get("timeline");
    const at = store.get("at");
    const chosen = [store.get("selected")].filter((id) => index.ownerOf(id));
    const id = firstOf(chosen)?.dataset.id ?? "";
    const { box, k } = viewport.window;
    const folds = shown?.unfolding?.folds;
    // A box says in every density the same of what is in it.
    const isBox = folds?.get(id) !== undefined;
    const own = chosen.find(
      (one) => index.cardOf(one) === id && index.item(one)?.kind !== "tensor",
    );
    const markup =
      id && !isBox ? looks.of(own ?? id, store.get("drawn"), timeline, at, folds) : undefined;
    unfolded.show(picture, index, id, markup, box, k);
  }
  store.watch(["content", "drawn", "selected", "unfolding"], unfold);
  viewport.onView = unfold;

  element.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || !event.target.closest("svg.gradviz-svg")) {
      if (event.target !== viewport.element) return;
    }
    const id = index.at(event.target);
    // What is clicked twice must not move after the first time.
    if (shown?.unfolding) viewport.keep();
    // Two clicks do what one does: after the first something else may be there.
    if (event.detail > 1) return;
    const act = actAt(event.target);
    if (act === "only") void actions.only(id);
    else if (event.shiftKey && store.get("selected") !== "") pathTo(id);
    else if (act === "toggle" && !event.ctrlKey && !event.metaKey) toggle(id);
    else store.set("selected", isRoom(event.target) ? "" : id);
  });
  /** Opens a box or closes it; where details are shown, those of the box that is opened. */
  function toggle(id: string): void {
    const hasDetails = store.get("details") || store.get("selected") !== "";
    if (hasDetails && !store.get("unfolding")?.opened.has(id)) store.set("selected", id);
    actions.toggle(id);
  }
  /** Whether it is the empty room in an opened box. */
  const isRoom = (target: EventTarget | null) =>
    target instanceof Element && target.matches(".gv-frame");
  /** Marks the paths between what is selected and something else. */
  function pathTo(id: string): void {
    const selected = store.get("selected");
    if (!id || id === selected) return;
    const { items } = store.get("content");
    const [one, other] = [selected, id].map((known) => index.item(known)?.label ?? known);
    if (areJoined(items, selected, id, folded())) {
      store.set("between", id);
      context.announce(`paths between ${one} and ${other}`);
    } else context.announce(`no path between ${one} and ${other}`);
  }
  followPointer(
    context,
    element,
    () => picture,
    (target) => index.at(target),
  );
  element.addEventListener("focusin", (event) => {
    const id = index.at(event.target);
    const shape = index.cards.get(id);
    if (!shape) return;
    visit(id);
    addRing(shape);
    if (!shape.matches(":focus-visible")) return;
    store.set("lit", id);
    if (store.isRest) return;
    viewport.reveal(boxOf(shape));
    shape.scrollIntoView?.({ block: "nearest", inline: "nearest" });
    tooltip.show(shape, picture.titles.get(shape) ?? "");
  });
  element.addEventListener("focusout", () => {
    tooltip.hide();
    store.set("lit", "");
  });

  element.addEventListener("keydown", (event) => {
    const item = index.item(index.at(event.target));
    if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      claim(event);
      if (event.shiftKey && store.get("selected") !== "") return pathTo(item.id);
      if (event.key === "Enter" && shown?.unfolding?.folds.get(item.id)) {
        return actions.toggle(item.id);
      }
      const around = [item.id, ...index.tagsOn(item.id)];
      store.set("selected", around[around.indexOf(store.get("selected")) + 1] ?? item.id);
      return;
    }
    const goal = goalOf(event, item);
    if (goal === undefined) return;
    claim(event);
    index.cards.get(goal)?.focus({ preventScroll: true });
  });

  /** The id that a key goes to; "" for none, undefined for other keys. */
  function goalOf(event: KeyboardEvent, item: Item): string | undefined {
    const ids = [...index.cards.keys()];
    if (event.key === "Home") return ids[0] ?? "";
    if (event.key === "End") return ids.at(-1) ?? "";
    const flow = flowOf(index.items, measure());
    const move = moveOf(event.key, flow);
    if (!move || event.shiftKey) return undefined;
    const goal = neighbour(item, move, flow, measure(), trail.slice(0, -1));
    if (goal === undefined && move === "next")
      context.announce("nothing further towards the inputs");
    if (goal === undefined && move === "prev")
      context.announce("nothing further towards the output");
    return goal ?? "";
  }

  async function reach(id: string): Promise<void> {
    store.set("selected", id);
    await actions.show(id);
    const shape = store.get("selected") === id ? index.ownerOf(id) : undefined;
    if (!shape) return;
    viewport.approach(boxOf(shape));
    shape.focus({ preventScroll: true });
  }

  const draws = (name: string) =>
    [...picture.svg.getElementsByClassName(name)].some((part) => !part.closest(".gv-absent"));
  return {
    ...{ element, viewport, draws, reach, folds: actions },
    current: () => index.at(document.activeElement) || store.get("selected"),
    focus: () => index.cards.get(current())?.focus(),
  };
}
