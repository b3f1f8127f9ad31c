// Shows the picture, follows the steps, highlights selected, found and hovered items, moves the
// focus.

import type { Density, GraphContent, Item } from "../documents/graph";
import type { AnyDocument } from "../documents/parse";
import { lookOf, svgOf } from "../documents/pictures";
import { isReport } from "../documents/report";
import { claim, html, SVG } from "../lib/dom";
import { relatedTo, subjectsOf } from "../model/related";
import { findItems } from "../model/search";
import type { Timeline } from "../model/timeline";
import type { PanelContext } from "../panel_context";
import type { Box } from "./camera";
import { makeExtent } from "./extent";
import { Motion } from "./motion";
import { flowOf, moveOf, neighbour } from "./navigation";
import { joins, pathsThrough } from "./paths";
import { nearestTitle, type Picture, parsePicture } from "./picture";
import { addRing, SvgIndex } from "./svg_index";
import { FullLooks, Unfolded } from "./unfolded";
import { type Shapes, Viewport } from "./viewport";

export interface GraphPanel {
  readonly element: HTMLElement;
  readonly viewport: Viewport;
  /** Whether the picture has an element of this class now. */
  draws(name: string): boolean;
  focus(): void;
}

export function makeGraph(context: PanelContext): GraphPanel {
  const { store, prefix, tooltip } = context;
  const viewport = new Viewport(context);
  const hint = html("p", { id: `${prefix}-hint`, class: "gradviz-hidden" });
  hint.textContent = "Arrow keys follow the edges, Enter selects, question mark lists all keys.";
  const element = html(
    "div",
    { class: "gradviz-graph" },
    viewport.element,
    makeExtent(context),
    hint,
  );

  const index = new SvgIndex();
  let picture: Picture;
  /** Element -> its current variant. */
  let variants = new Map<string, number>();
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

  const measure = () => {
    boxes ??= new Map([...index.cards].map(([id, shape]) => [id, viewport.boxOf(shape)]));
    return boxes;
  };

  let looks: FullLooks;
  let shown: { readonly wire: AnyDocument; readonly density: Density } | undefined;
  store.watch(["wire", "drawn"], () => {
    const [wire, density] = [store.get("wire"), store.get("drawn")];
    if (shown?.wire === wire && shown.density === density) return;
    const isNew = shown?.wire !== wire;
    shown = { wire, density };
    if (isNew) looks = new FullLooks(wire);
    // A report without a graph shows its figures elsewhere.
    const svg = isReport(wire) && !wire.picture ? `<svg xmlns="${SVG}"/>` : svgOf(wire, density);
    const hadFocus = element.contains(document.activeElement);
    picture = parsePicture(svg, prefix);
    variants = new Map();
    content = undefined;
    // In another density the same cards are there.
    if (isNew) trail = [];
    refresh();
    viewport.show(picture.svg, subject);
    if (hadFocus) index.cards.get(current())?.focus();
  });
  let before: GraphContent | undefined;
  store.watch(["content"], () => {
    if (before !== store.get("content")) motion.begin();
    refresh();
    motion.play();
    // The cards that a step makes are there now.
    if (before && before !== content && store.get("timeline")) viewport.followSubject();
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
      const look = timeline ? lookOf(timeline.recording, density, key, variant) : "";
      picture.patch(key, look, (target) => motion.changes(target));
    }
    if (timeline) picture.svg.setAttribute("aria-label", content.summary);
    index.read(picture.svg, content.items);
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
      ? latestSubjects(timeline, store.get("at"))
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
  store.watch(["content", "drawn", "query"], () => {
    const found = findItems(index.items, store.get("query"));
    const ids = found.map(({ id }) => id);
    index.highlight("is-match", ids);
  });
  store.watch(["content", "drawn", "lit"], () => {
    index.highlight("is-lit", relatedTo(store.get("timeline"), store.get("lit")));
  });
  store.watch(["content", "drawn", "selected"], () => {
    const selected = store.get("selected");
    index.highlight("is-selected", [selected]);
    const id = index.ownerOf(selected)?.dataset.id ?? "";
    picture.svg.classList.toggle("is-tracing", id !== "");
    const paths = pathsThrough(index.items, id);
    index.highlight("is-on-path", id ? [...paths.inputs, ...paths.outputs] : []);
    for (const edge of picture.svg.querySelectorAll("[data-source]")) {
      const [source = "", target = "", tensor = ""] = ["source", "target", "tensor"].map(
        (end) => edge.getAttribute(`data-${end}`) ?? "",
      );
      const near = selected !== "" && [source, target, tensor].includes(selected);
      edge.classList.toggle("is-near", near);
      edge.classList.toggle("is-on-path", near || (id !== "" && joins(paths, source, target)));
    }
  });
  store.watch(["wire", "drawn", "selected"], () => {
    const shape = index.ownerOf(store.get("selected"));
    if (!shape) return;
    visit(shape.dataset.id ?? "");
    viewport.reveal(viewport.boxOf(shape));
  });
  viewport.onShow = () => index.addRings();

  const unfolded = new Unfolded();
  /** Unfolds the selected card; where cards are compact else the one that the step is about. */
  function unfold(): void {
    const timeline = store.get("timeline");
    const at = store.get("at");
    const chosen = [store.get("selected")].filter((id) => index.ownerOf(id));
    const follows = timeline !== undefined && store.get("drawn") === "compact";
    const ids = chosen.length || !follows ? chosen : subjectsOf(timeline, at);
    const id = firstOf(ids)?.dataset.id ?? "";
    const { box, k } = viewport.window;
    const markup = id ? looks.of(id, store.get("drawn"), timeline, at) : undefined;
    unfolded.show(picture, index, id, markup, box, k, chosen.length > 0);
  }
  store.watch(["content", "drawn", "selected"], unfold);
  viewport.onView = unfold;

  element.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || !event.target.closest("svg.gradviz-svg")) {
      if (event.target !== viewport.element) return;
    }
    store.set("selected", index.at(event.target));
  });
  element.addEventListener("pointerover", (event) => {
    store.set("lit", index.at(event.target));
    const titled = nearestTitle(event.target, picture);
    tooltip.point(titled, titled ? (picture.titles.get(titled) ?? "") : "");
  });
  element.addEventListener("pointerleave", () => {
    store.set("lit", "");
    tooltip.point(undefined, "");
  });
  element.addEventListener("focusin", (event) => {
    const id = index.at(event.target);
    const shape = index.cards.get(id);
    if (!shape) return;
    visit(id);
    addRing(shape);
    if (!shape.matches(":focus-visible")) return;
    viewport.reveal(viewport.boxOf(shape));
    shape.scrollIntoView?.({ block: "nearest", inline: "nearest" });
    store.set("lit", id);
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

  const draws = (name: string) =>
    [...picture.svg.getElementsByClassName(name)].some((part) => !part.closest(".gv-absent"));
  return { element, viewport, draws, focus: () => index.cards.get(current())?.focus() };
}
