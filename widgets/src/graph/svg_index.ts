// The elements of the picture by id, and the highlights on them.

import type { Item } from "../documents/graph";
import { focusable, setProps, svg } from "../lib/dom";

/** Elements that may hold nothing that takes the focus. */
const HOLDERS = ":is([role=img], [role=button])[data-id]";

export class SvgIndex {
  /** Elements that take the focus: a card per item, except tags, which lie on cards. */
  cards: ReadonlyMap<string, SVGGElement> = new Map();
  #items: ReadonlyMap<string, Item> = new Map();
  /** All elements of an id, in the order of drawing. */
  #holders = new Map<string, SVGGElement[]>();
  /** Tag on a card, or another node or leaf that it is of -> the card. */
  #owners = new Map<string, string>();
  readonly #highlighted = new Map<string, SVGGElement[]>();
  /** What is seen of an id that has no element. */
  #shownFor: (id: string) => string = (id) => id;

  /** Reads a new or changed picture. `shownFor` says in which box something is that is not drawn. */
  read(picture: Element, items: readonly Item[], shownFor = (id: string) => id): void {
    this.#shownFor = shownFor;
    const before = new Set(this.cards.values());
    const cards = new Map<string, SVGGElement>();
    this.#items = new Map(items.map((item) => [item.id, item]));
    this.#holders = new Map();
    this.#owners = new Map();
    for (const holder of picture.querySelectorAll<SVGGElement>("[data-id]")) {
      const { id = "", tensor, others } = holder.dataset;
      const more = others?.split(" ") ?? [];
      for (const name of [id, ...(tensor?.split(" ") ?? []), ...more]) {
        this.#holders.set(name, [...(this.#holders.get(name) ?? []), holder]);
      }
      for (const other of more) this.#owners.set(other, id);
      // Such an element may hold nothing that takes focus, so a tag in a card does not.
      const card = holder.parentElement?.closest<SVGGElement>(HOLDERS);
      if (card && this.#items.has(id)) this.#owners.set(id, card.dataset.id ?? "");
    }
    if (picture.querySelector("[data-others]")) this.#items = this.#byCard(items);
    for (const { id } of items) {
      const shape = this.#holders.get(id)?.[0];
      if (!shape || this.#owners.has(id)) continue;
      before.delete(shape);
      cards.set(id, shape.hasAttribute("tabindex") ? shape : focusable(shape, -1));
    }
    for (const gone of before)
      setProps(gone, { tabindex: false, "data-lm-suppress-shortcuts": false });
    this.cards = cards;
  }

  item(id: string): Item | undefined {
    return this.#items.get(id);
  }

  get items(): readonly Item[] {
    return [...this.#items.values()];
  }

  /** The id of the innermost item that an element of the picture belongs to, "" if to none. */
  at(target: EventTarget | null): string {
    const unfolded = target instanceof Element ? target.closest("[data-unfolds]") : null;
    if (unfolded) return unfolded.getAttribute("data-unfolds") ?? "";
    let found = target instanceof Element ? target.closest("[data-id]") : null;
    while (found && !this.#items.has(found.getAttribute("data-id") ?? "")) {
      found = found.parentElement?.closest("[data-id]") ?? null;
    }
    return found?.getAttribute("data-id") ?? "";
  }

  /** The card that an item is, or lies on; the closed box that it is in. */
  ownerOf(id: string): SVGGElement | undefined {
    const own = this.cards.get(id) ?? this.cards.get(this.#owners.get(id) ?? "");
    return own ?? this.cards.get(this.#shownFor(id));
  }

  /** The id of the card that an item is, or lies on. */
  cardOf(id: string): string {
    return this.#owners.get(id) ?? id;
  }

  tagsOn(id: string): readonly string[] {
    return [...this.#owners.keys()].filter((tag) => this.#owners.get(tag) === id);
  }

  /** The items with what they are joined to by card: what is joined to one is to all of its box. */
  #byCard(items: readonly Item[]): ReadonlyMap<string, Item> {
    const next = new Map<string, Set<string>>();
    const prev = new Map<string, Set<string>>();
    const put = (way: Map<string, Set<string>>, from: string, to: string) =>
      way.set(from, (way.get(from) ?? new Set()).add(to));
    for (const item of items) {
      const card = this.cardOf(item.id);
      for (const to of item.next) if (this.cardOf(to) !== card) put(next, card, this.cardOf(to));
      for (const to of item.prev) if (this.cardOf(to) !== card) put(prev, card, this.cardOf(to));
    }
    const joined = (way: ReadonlyMap<string, ReadonlySet<string>>, id: string) => [
      ...(way.get(id) ?? []),
    ];
    return new Map(
      items.map((item) => {
        const isPart = this.#owners.has(item.id);
        const own = { next: joined(next, item.id), prev: joined(prev, item.id) };
        return [item.id, isPart ? item : { ...item, ...own }];
      }),
    );
  }

  /** Gives a class to the elements of these ids, and to no others. */
  highlight(name: string, ids: Iterable<string>): void {
    for (const holder of this.#highlighted.get(name) ?? []) holder.classList.remove(name);
    const now = [...new Set([...ids].flatMap((id) => this.#holdersOf(id)))];
    this.#highlighted.set(name, now);
    for (const holder of now) {
      addRing(holder);
      holder.classList.add(name);
    }
  }

  #holdersOf(id: string): readonly SVGGElement[] {
    return this.#holders.get(id) ?? this.#holders.get(this.#shownFor(id)) ?? [];
  }

  /** Draws the outlines once the picture has a size. */
  addRings(): void {
    for (const holder of [...this.#highlighted.values()].flat()) addRing(holder);
  }
}

/** The outline for focus and highlights; it does not count in the size of its card. */
export function addRing(shape: SVGGElement): void {
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
