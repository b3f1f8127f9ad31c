// The picture: shows it, marks what is selected, found and pointed at, moves the focus.
import type { Box } from "./camera";
import type { Context } from "./context";
import { focusable, html, svg, take } from "./dom";
import { findItems } from "./find";
import { type Picture, parsePicture } from "./picture";
import { flowOf, moveOf, neighbour } from "./roving";
import { Viewport } from "./viewport";
import type { Item } from "./wire";

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

  let picture: Picture;
  let items = new Map<string, Item>();
  let shapes = new Map<string, SVGGElement>();
  /** Everything that stands for an id, in the order of drawing. */
  let holders = new Map<string, SVGGElement[]>();
  /** Tag on a card -> the card. */
  let owners = new Map<string, string>();
  const marked = new Map<string, SVGGElement[]>();
  let boxes: Map<string, Box> | undefined;
  let trail: string[] = [];

  const current = () => trail.at(-1) ?? "";
  const itemAt = (target: EventTarget | null): string => {
    let found = target instanceof Element ? target.closest("[data-id]") : null;
    while (found && !items.has(found.getAttribute("data-id") ?? "")) {
      found = found.parentElement?.closest("[data-id]") ?? null;
    }
    return found?.getAttribute("data-id") ?? "";
  };

  /** The card that an item is, or lies on. */
  const ownerOf = (id: string) => shapes.get(id) ?? shapes.get(owners.get(id) ?? "");
  const tagsOn = (id: string) => [...owners.keys()].filter((tag) => owners.get(tag) === id);

  const setCurrent = (id: string) => {
    shapes.get(current())?.setAttribute("tabindex", "-1");
    trail = [...trail.filter((known) => known !== id), id].slice(-50);
    shapes.get(id)?.setAttribute("tabindex", "0");
  };

  const measure = () => {
    boxes ??= new Map([...shapes].map(([id, shape]) => [id, viewport.boxOf(shape)]));
    return boxes;
  };

  store.watch(["wire"], () => {
    const wire = store.get("wire");
    const hadFocus = element.contains(document.activeElement);
    picture = parsePicture(wire.svg, prefix);
    items = new Map(wire.items.map((item) => [item.id, item]));
    shapes = new Map();
    owners = new Map();
    holders = new Map();
    marked.clear();
    boxes = undefined;
    for (const holder of picture.svg.querySelectorAll<SVGGElement>("[data-id]")) {
      const id = holder.dataset.id ?? "";
      holders.set(id, [...(holders.get(id) ?? []), holder]);
      // An element with role="img" may hold nothing that takes focus, so a tag in a card does not.
      const card = holder.parentElement?.closest<SVGGElement>("[role=img][data-id]");
      if (card && items.has(id)) owners.set(id, card.dataset.id ?? "");
    }
    for (const id of items.keys()) {
      const shape = holders.get(id)?.[0];
      if (shape && !owners.has(id)) shapes.set(id, focusable(shape, -1));
    }
    const root = shapes.has(current()) ? current() : [...shapes.keys()][0];
    trail = trail.filter((id) => shapes.has(id));
    viewport.show(picture.svg, () => ownerOf(store.get("selected")) ?? shapes.get(root ?? ""));
    if (root) setCurrent(root);
    if (hadFocus) shapes.get(current())?.focus();
  });

  store.watch(["wire", "engine_arrows"], () => {
    picture.svg.classList.toggle("gv-engine", store.get("engine_arrows"));
  });
  store.watch(["height"], () => {
    const height = store.get("height");
    element.style.setProperty("--height", `${height}px`);
    element.classList.toggle("is-fixed", height > 0);
  });
  store.watch(["wire", "query"], () => {
    const found = findItems([...items.values()], store.get("query"));
    mark(
      "is-match",
      found.map(({ id }) => id),
    );
  });
  store.watch(["wire", "lit"], () => mark("is-lit", [store.get("lit")]));
  store.watch(["wire", "selected"], () => {
    const selected = store.get("selected");
    mark("is-selected", [selected]);
    for (const edge of picture.svg.querySelectorAll("[data-source]")) {
      const ends = ["source", "target", "tensor"].map((end) => edge.getAttribute(`data-${end}`));
      edge.classList.toggle("is-near", selected !== "" && ends.includes(selected));
    }
    const shape = ownerOf(selected);
    if (!shape) return;
    setCurrent(shape.dataset.id ?? "");
    viewport.reveal(viewport.boxOf(shape));
  });
  viewport.onShow = () => {
    for (const holder of [...marked.values()].flat()) addRing(holder);
  };

  function mark(name: string, ids: Iterable<string>): void {
    for (const holder of marked.get(name) ?? []) holder.classList.remove(name);
    const now = [...ids].flatMap((id) => holders.get(id) ?? []);
    marked.set(name, now);
    for (const holder of now) {
      addRing(holder);
      holder.classList.add(name);
    }
  }

  element.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || !event.target.closest("svg.gradviz-svg")) {
      if (event.target !== viewport.element) return;
    }
    store.set("selected", itemAt(event.target));
  });
  element.addEventListener("pointerover", (event) => {
    store.set("lit", itemAt(event.target));
    const titled = nearestTitle(event.target, picture);
    tooltip.point(titled, titled ? (picture.titles.get(titled) ?? "") : "");
  });
  element.addEventListener("pointerleave", () => {
    store.set("lit", "");
    tooltip.point(undefined, "");
  });
  element.addEventListener("focusin", (event) => {
    const id = itemAt(event.target);
    const shape = shapes.get(id);
    if (!shape) return;
    setCurrent(id);
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
    const item = items.get(itemAt(event.target));
    if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      take(event);
      const around = [item.id, ...tagsOn(item.id)];
      store.set("selected", around[around.indexOf(store.get("selected")) + 1] ?? item.id);
      return;
    }
    const goal = goalOf(event, item);
    if (goal === undefined) return;
    take(event);
    shapes.get(goal)?.focus({ preventScroll: true });
  });

  /** The id a key leads to, "" when it leads nowhere, undefined when the key is not ours. */
  function goalOf(event: KeyboardEvent, item: Item): string | undefined {
    const ids = [...shapes.keys()];
    if (event.key === "Home") return ids[0] ?? "";
    if (event.key === "End") return ids.at(-1) ?? "";
    const flow = flowOf([...items.values()], measure());
    const move = moveOf(event.key, flow);
    if (!move || event.shiftKey) return undefined;
    const goal = neighbour(item, move, flow, measure(), trail.slice(0, -1));
    if (goal === undefined && move === "next")
      context.announce("nothing further towards the inputs");
    if (goal === undefined && move === "prev")
      context.announce("nothing further towards the output");
    return goal ?? "";
  }

  return { element, viewport, focus: () => shapes.get(current())?.focus() };
}

function nearestTitle(target: EventTarget | null, picture: Picture): Element | undefined {
  let found = target instanceof Element ? target : null;
  while (found && !picture.titles.has(found)) found = found.parentElement;
  return found && found !== picture.svg ? found : undefined;
}

/** The outline that shows focus and marks; it takes part in no measure of its own card. */
function addRing(shape: SVGGElement): void {
  if (!shape.getBBox || shape.querySelector(":scope > .gradviz-ring")) return;
  const { x, y, width, height } = shape.getBBox();
  if (!width) return;
  const grow = 4;
  shape.append(
    svg("rect", {
      class: "gradviz-ring",
      style: "fill:none", // before any rule the picture has for its own rects
      x: x - grow,
      y: y - grow,
      width: width + 2 * grow,
      height: height + 2 * grow,
      rx: 9,
    }),
  );
}
