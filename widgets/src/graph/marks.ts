// The marks of what is selected: it, and the paths through it; in a folded picture the boxes and links
// that these are in.

import type { InsideLink, Insides } from "../documents/folds";
import type { Item } from "../documents/graph";
import type { Folds, Unfolding } from "../model/folds";
import type { Composition, PlacedLink } from "./composition";
import { edgesOn, joins, type Paths, pathsBetween, pathsThrough } from "./paths";
import type { SvgIndex } from "./svg_index";

/** What is marked: an item, and if there is one a second item that the paths lead to. */
export interface Chosen {
  readonly selected: string;
  readonly between: string;
}

/** A folded picture. */
export interface Folded {
  readonly unfolding: Unfolding;
  readonly composition: Composition;
}

export function markChosen(
  picture: SVGSVGElement,
  index: SvgIndex,
  items: readonly Item[],
  { selected, between }: Chosen,
  folded: Folded | undefined,
): void {
  index.highlight("is-selected", between ? [selected, between] : [selected]);
  // A tag lies on the card whose paths are marked; what is hidden has its own.
  const own = folded?.unfolding.folds.item(selected)?.kind === "node" ? selected : "";
  const id = own || (index.ownerOf(selected)?.dataset.id ?? "");
  picture.classList.toggle("is-tracing", id !== "");
  const nodes = (one: string) => nodesOf(items, one, folded);
  const paths = between
    ? pathsBetween(items, nodes(id), nodes(between))
    : pathsThrough(items, ...nodes(id));
  const ids = id ? [...paths.inputs, ...paths.outputs] : [];
  index.highlight("is-on-path", folded ? seen(ids, folded) : ids);
  for (const edge of picture.querySelectorAll("[data-source]")) {
    const [source = "", target = "", tensor = ""] = ["source", "target", "tensor"].map(
      (end) => edge.getAttribute(`data-${end}`) ?? "",
    );
    const ends = [source, target, tensor];
    const isOnCard = ends.some((end) => end !== "" && index.cardOf(end) === index.cardOf(selected));
    const near = !between && selected !== "" && isOnCard;
    edge.classList.toggle("is-near", near);
    edge.classList.toggle("is-on-path", near || (id !== "" && joins(paths, source, target)));
  }
  if (folded && id) markLinks(picture, linksOn(items, paths, folded), folded);
}

/** Of a folded picture a link stands for all that goes from one box to another. */
function markLinks(
  picture: SVGSVGElement,
  isOn: (placed: PlacedLink) => boolean,
  { composition }: Folded,
): void {
  const drawn = [...picture.querySelectorAll(":scope > :is(.gv-edge, .gv-uses)")];
  for (const [i, placed] of composition.parts.filter((part) => part.kind === "link").entries()) {
    if (isOn(placed)) drawn[i]?.classList.add("is-on-path");
  }
}

/** Whether two items are joined by a path. */
export function areJoined(
  items: readonly Item[],
  one: string,
  other: string,
  folded: Folded | undefined,
): boolean {
  const { inputs, outputs } = pathsBetween(
    items,
    nodesOf(items, one, folded),
    nodesOf(items, other, folded),
  );
  return inputs.size + outputs.size > 0;
}

/** Of a fold all nodes in it, else the item itself. */
function nodesOf(items: readonly Item[], id: string, folded: Folded | undefined): string[] {
  const folds = folded?.unfolding.folds;
  if (!folds?.get(id)) return [id];
  const inside = items.filter(({ kind }) => kind !== "fold").map((item) => item.id);
  return inside.filter((one) => folds.isWithin(one, id));
}

/** What is seen of these: themselves, the closed boxes that they are in, the opened boxes around. */
function seen(ids: readonly string[], { unfolding }: Folded): ReadonlySet<string> {
  const { folds, opened } = unfolding;
  const found = new Set<string>();
  for (const id of ids) {
    const shown = folds.shownFor(id, unfolding);
    if (!shown) continue;
    found.add(shown);
    for (const fold of folds.around(shown)) if (opened.has(fold)) found.add(fold);
  }
  return found;
}

/** Says of a link whether a value that it stands for is on the paths. */
function linksOn(items: readonly Item[], paths: Paths, { unfolding }: Folded) {
  const { folds } = unfolding;
  const users = edgesOn(items, paths);
  const insides = folds.insides("normal");
  return ({ fold, link }: PlacedLink): boolean => {
    const [head] = link.head;
    const uses = (id: string) => (head ? folds.isWithin(id, head) : !folds.isWithin(id, fold));
    const made = makersOf(folds, insides, link) ?? [...users.keys()].filter(within(link.tail[0]));
    return made.some((id) => users.get(id)?.some(uses));
  };
  function within(fold: string) {
    return (id: string) => folds.isWithin(id, fold);
  }
}

/** The nodes whose values a link carries; undefined where the inside that makes them is not known. */
function makersOf(
  folds: Folds,
  insides: Insides,
  { tail, target }: InsideLink,
): readonly string[] | undefined {
  const [id, port] = tail;
  if (id === "") return [target];
  if (!folds.get(id)) return [id];
  const out = insides[id]?.links.filter(({ head }) => head[0] === "" && head[1] === port);
  const found = out?.map((link) => makersOf(folds, insides, link));
  return found?.some((one) => !one) ? undefined : found?.flatMap((one) => one ?? []);
}
