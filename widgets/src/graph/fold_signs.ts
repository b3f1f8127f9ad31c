// What a view adds to the boxes of a folded picture: the signs that open and close them, how many
// matches are in them, and that one is waited for.

import { setProps, svg } from "../lib/dom";
import type { Unfolding } from "../model/folds";
import { HEADER } from "./composition";
import type { Picture } from "./picture";

/** Side of what takes the click around a sign, and distance of others from the corner. */
const SIGN = 22;
const RIM = 4;
const HALF = 4;
/** Width of a character of a badge. */
const CHARACTER = 6.8;
const BADGE = 16;
/** The card of a closed box, without those drawn behind it where it stands for several. */
const CARD = ":scope > .gv-card:not(.gv-stack)";
const ONLY =
  `M${-HALF} ${-HALF + 3}v-3h3M${HALF - 3} ${-HALF}h3v3` +
  `M${HALF} ${HALF - 3}v3h-3M${-HALF + 3} ${HALF}h-3v-3`;

/** Lets the boxes of a picture be opened and closed. */
export function addSigns({ svg: root, titles }: Picture, { folds }: Unfolding): void {
  for (const shape of root.querySelectorAll<SVGGElement>(".gv-fold[data-id]")) {
    const fold = folds.get(shape.dataset.id ?? "");
    if (!fold) continue;
    const isOpen = shape.classList.contains("gv-open");
    // After a step only the boxes that it changed have none.
    if (shape.querySelector(":scope > .gradviz-sign")) continue;
    // The name of a button is what is written on it.
    setProps(shape, { role: "button", "aria-expanded": String(isOpen), "aria-label": undefined });
    const drawn = shape.querySelector(":scope > .gv-fold-sign, :scope > .gv-facts > .gv-fold-sign");
    const toggle = hitArea(drawn, isOpen);
    titles.set(toggle, isOpen ? "Fold (Enter)" : `Unfold: ${fold.members} inside (Enter)`);
    shape.append(toggle);
    if (!isOpen) continue;
    const header = shape.querySelector(":scope > .gv-header");
    const width = Number(header?.getAttribute("width") ?? 0);
    if (header) titles.set(header, `Fold ${[fold.label, ...fold.words].join(" · ")} (Enter)`);
    const only = onlySign(width - SIGN - RIM, (HEADER - SIGN) / 2);
    titles.set(only, "Show only this (m)");
    shape.append(only);
  }
}

/** The part of a box that is looked at: of an opened one its header. */
export function spotOf(shape: SVGGElement): SVGGElement {
  return shape.querySelector<SVGGElement>(":scope > .gv-header") ?? shape;
}

/** What a click does to a box: all of a closed one opens it, all of a header closes it; undefined
    where no box is. */
export function actAt(target: EventTarget | null): "toggle" | "only" | undefined {
  if (!(target instanceof Element)) return undefined;
  if (target.closest(".gradviz-sign.is-only")) return "only";
  return target.closest(".gv-fold") && !target.matches(".gv-frame") ? "toggle" : undefined;
}

/** Counts on closed boxes what is found in them. */
export function showCounts(root: Element, counts: ReadonlyMap<string, string>): void {
  for (const badge of root.querySelectorAll(".gradviz-found")) badge.remove();
  for (const [id, count] of counts) {
    const shape = root.querySelector(`.gv-fold:not(.gv-open)[data-id="${id}"]`);
    const width = Number(shape?.querySelector(CARD)?.getAttribute("width") ?? 0);
    shape?.append(badge("gradviz-found", `${count} found`, width));
  }
}

/** Marks the boxes whose inside the kernel is asked for, and those whose inside nobody has. */
export function showStates(
  { svg: root, titles }: Picture,
  { folds }: Unfolding,
  awaited: ReadonlySet<string>,
  hasKernel: boolean,
): void {
  for (const known of root.querySelectorAll(".gradviz-state")) known.remove();
  for (const shape of root.querySelectorAll<SVGGElement>(".gv-fold[data-id]:not(.gv-open)")) {
    const id = shape.dataset.id ?? "";
    const isAwaited = awaited.has(id);
    const isMissing = folds.get(id) !== undefined && !folds.isKnown(id) && !hasKernel;
    shape.classList.toggle("is-busy", isAwaited);
    shape.classList.toggle("is-missing", isMissing);
    setProps(shape, { "aria-busy": isAwaited ? "true" : undefined });
    const words = isAwaited ? "asks the kernel …" : isMissing ? "needs a kernel" : "";
    if (!words) continue;
    const height = Number(shape.querySelector(CARD)?.getAttribute("height") ?? 0);
    const width = Number(shape.querySelector(CARD)?.getAttribute("width") ?? 0);
    const state = badge("gradviz-state", words, width, height - 3);
    if (isMissing && folds.limit) titles.set(state, folds.limit);
    shape.append(state);
  }
}

/** What takes the click on a sign that Python drew: it is as large as a finger needs. */
function hitArea(sign: Element | null, isOpen: boolean): SVGGElement {
  const [, x = "10", y = "8.5"] = /^M([\d.]+),([\d.]+)/.exec(sign?.getAttribute("d") ?? "") ?? [];
  const [left, top] = [Number(x) + 4.5 - SIGN / 2, Number(y) + 4.5 - SIGN / 2];
  return svg(
    "g",
    { class: "gradviz-sign is-toggle", "aria-hidden": "true" },
    svg("rect", {
      x: left,
      y: isOpen ? (HEADER - SIGN) / 2 : top,
      width: SIGN,
      height: SIGN,
      rx: 4,
    }),
  );
}

function onlySign(x: number, y: number): SVGGElement {
  return svg(
    "g",
    { class: "gradviz-sign is-only", "aria-hidden": "true" },
    svg("rect", { x, y, width: SIGN, height: SIGN, rx: 4 }),
    svg("path", { d: ONLY, transform: `translate(${x + SIGN / 2} ${y + SIGN / 2})` }),
  );
}

/** Words on the rim of a box, at its right end. */
function badge(name: string, words: string, end: number, y = -BADGE / 2): SVGGElement {
  const width = words.length * CHARACTER + 12;
  const x = end - width - RIM;
  return svg(
    "g",
    { class: `gradviz-badge ${name}`, "aria-hidden": "true" },
    svg("rect", { x, y, width, height: BADGE, rx: BADGE / 2 }),
    svg("text", { x: x + 6, y: y + 12 }, words),
  );
}
