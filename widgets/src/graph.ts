// The picture: shows it, follows the steps, marks what is selected, found and pointed at, moves
// the focus.
import type { Box } from "./camera";
import type { Context } from "./context";
import { html, SVG, take } from "./dom";
import { findItems } from "./find";
import { nearestTitle, type Picture, parsePicture } from "./picture";
import { isReport } from "./report_wire";
import { flowOf, moveOf, neighbour } from "./roving";
import { addRing, Shapes } from "./shapes";
import { aboutOf, lightOf } from "./steps";
import { Viewport } from "./viewport";
import type { Facts, Item } from "./wire";

export interface Graph {
  readonly element: HTMLElement;
  readonly viewport: Viewport;
  focus(): void;
}

export function makeGraph(context: Context): Graph {
  const { store, prefix, tooltip } = context;
  const viewport = new Viewport(context);
  const hint = html("p", { id: `${prefix}-hint`, class: "gradviz-hidden" });
  hint.textContent = "Arrow keys follow the edges, Enter selects, question mark lists all keys.";
  const element = html("div", { class: "gradviz-graph" }, viewport.element, hint);

  const shapes = new Shapes();
  let picture: Picture;
  /** Element -> the variant that stands there. */
  let variants = new Map<string, number>();
  let facts: Facts | undefined;
  let boxes: Map<string, Box> | undefined;
  let trail: string[] = [];

  /** Where the focus enters: what was visited last of what is there. */
  const current = () =>
    trail.findLast((id) => shapes.cards.has(id)) ?? [...shapes.cards.keys()][0] ?? "";
  const setStop = () => {
    const stop = current();
    for (const [id, card] of shapes.cards) card.setAttribute("tabindex", id === stop ? "0" : "-1");
  };
  const visit = (id: string) => {
    trail = [...trail.filter((known) => known !== id), id].slice(-50);
    setStop();
  };

  const measure = () => {
    boxes ??= new Map([...shapes.cards].map(([id, shape]) => [id, viewport.boxOf(shape)]));
    return boxes;
  };

  store.watch(["wire"], () => {
    const wire = store.get("wire");
    // A report without a graph shows its figures elsewhere.
    const svg = isReport(wire) && !wire.picture ? `<svg xmlns="${SVG}"/>` : wire.svg;
    const hadFocus = element.contains(document.activeElement);
    picture = parsePicture(svg, prefix);
    variants = new Map();
    facts = undefined;
    trail = [];
    refresh();
    const marked = isReport(wire) ? wire.marked : [];
    viewport.show(picture.svg, () => {
      const first = marked.map((id) => shapes.ownerOf(id)).find((shape) => shape !== undefined);
      return goal() ?? first ?? shapes.cards.get(current());
    });
    if (hadFocus) shapes.cards.get(current())?.focus();
  });
  store.watch(["facts"], refresh);

  /** Makes the picture that of the current step. */
  function refresh(): void {
    if (facts === store.get("facts")) return;
    facts = store.get("facts");
    const focused = shapes.at(document.activeElement);
    const timeline = store.get("timeline");
    for (const [key, variant] of timeline?.moment(store.get("at")).at ?? []) {
      if (variants.get(key) === variant) continue;
      variants.set(key, variant);
      picture.patch(key, timeline?.wire.elements[key]?.[variant] ?? "");
    }
    if (timeline) picture.svg.setAttribute("aria-label", facts.summary);
    shapes.read(picture.svg, facts.items);
    boxes = undefined;
    tooltip.hide();
    setStop();
    // What had the focus may be no more, or be drawn anew.
    const heir = focused ? shapes.cards.get(current()) : undefined;
    if (heir && heir !== document.activeElement) heir.focus();
    else if (heir) addRing(heir);
  }

  /** What a step is about, or what is selected: the window goes there. */
  function goal(): SVGGElement | undefined {
    const timeline = store.get("timeline");
    if (!timeline) return shapes.ownerOf(store.get("selected"));
    const about = aboutOf(timeline, store.get("at")).map((id) => shapes.ownerOf(id));
    return about.find((shape) => shape !== undefined);
  }

  let stepped = false;
  store.watch(["at"], () => {
    const shape = goal();
    if (stepped && store.get("timeline") && shape) viewport.follow(viewport.boxOf(shape));
    stepped = true;
  });
  store.watch(["wire", "engine_arrows"], () => {
    picture.svg.classList.toggle("gv-engine", store.get("engine_arrows"));
  });
  store.watch(["height"], () => {
    const height = store.get("height");
    element.style.setProperty("--height", `${height}px`);
    element.classList.toggle("is-fixed", height > 0);
  });
  store.watch(["facts", "query"], () => {
    const found = findItems(shapes.items, store.get("query"));
    const ids = found.map(({ id }) => id);
    shapes.mark("is-match", ids);
  });
  store.watch(["facts", "lit"], () => {
    shapes.mark("is-lit", lightOf(store.get("timeline"), store.get("lit")));
  });
  store.watch(["facts", "selected"], () => {
    const selected = store.get("selected");
    shapes.mark("is-selected", [selected]);
    for (const edge of picture.svg.querySelectorAll("[data-source]")) {
      const ends = ["source", "target", "tensor"].map((end) => edge.getAttribute(`data-${end}`));
      edge.classList.toggle("is-near", selected !== "" && ends.includes(selected));
    }
  });
  store.watch(["wire", "selected"], () => {
    const shape = shapes.ownerOf(store.get("selected"));
    if (!shape) return;
    visit(shape.dataset.id ?? "");
    viewport.reveal(viewport.boxOf(shape));
  });
  viewport.onShow = () => shapes.addRings();

  element.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || !event.target.closest("svg.gradviz-svg")) {
      if (event.target !== viewport.element) return;
    }
    store.set("selected", shapes.at(event.target));
  });
  element.addEventListener("pointerover", (event) => {
    store.set("lit", shapes.at(event.target));
    const titled = nearestTitle(event.target, picture);
    tooltip.point(titled, titled ? (picture.titles.get(titled) ?? "") : "");
  });
  element.addEventListener("pointerleave", () => {
    store.set("lit", "");
    tooltip.point(undefined, "");
  });
  element.addEventListener("focusin", (event) => {
    const id = shapes.at(event.target);
    const shape = shapes.cards.get(id);
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
    const item = shapes.item(shapes.at(event.target));
    if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      take(event);
      const around = [item.id, ...shapes.tagsOn(item.id)];
      store.set("selected", around[around.indexOf(store.get("selected")) + 1] ?? item.id);
      return;
    }
    const goal = goalOf(event, item);
    if (goal === undefined) return;
    take(event);
    shapes.cards.get(goal)?.focus({ preventScroll: true });
  });

  /** The id a key leads to, "" when it leads nowhere, undefined when the key is not ours. */
  function goalOf(event: KeyboardEvent, item: Item): string | undefined {
    const ids = [...shapes.cards.keys()];
    if (event.key === "Home") return ids[0] ?? "";
    if (event.key === "End") return ids.at(-1) ?? "";
    const flow = flowOf(shapes.items, measure());
    const move = moveOf(event.key, flow);
    if (!move || event.shiftKey) return undefined;
    const goal = neighbour(item, move, flow, measure(), trail.slice(0, -1));
    if (goal === undefined && move === "next")
      context.announce("nothing further towards the inputs");
    if (goal === undefined && move === "prev")
      context.announce("nothing further towards the output");
    return goal ?? "";
  }

  return { element, viewport, focus: () => shapes.cards.get(current())?.focus() };
}
