// The full look of one card, laid over the picture beside the card: nothing else moves. It is a copy
// for the eye; the card itself stays what is focused, read aloud and selected.

import type { Density } from "../documents/graph";
import type { AnyDocument } from "../documents/parse";
import { isRecording } from "../documents/recording";
import { svg } from "../lib/dom";
import type { Folds } from "../model/folds";
import type { Timeline } from "../model/timeline";
import type { Box, Size } from "./camera";
import { fullCard } from "./composed_svg";
import type { Picture } from "./picture";
import { lineBetween, type Point, placeBeside } from "./placement";
import type { SvgIndex } from "./svg_index";

/** The zoom at which its text is read without effort. */
const READABLE = 1;
/** The width on the screen up to which it is larger than that where the picture is. */
const WIDEST = 300;
const PAD = 7;
/** Radius of the end of its leader. */
const DOT = 3;
/** Points of each edge that are looked at. */
const POINTS = 8;

/** The markup of cards in full, at a step. */
export class FullLooks {
  readonly #wire: AnyDocument;
  #drawn: Document | undefined;

  constructor(wire: AnyDocument) {
    this.#wire = wire;
  }

  /** The card of an item, undefined where there is none or the picture is full already. */
  of(
    id: string,
    density: Density,
    timeline: Timeline | undefined,
    at: number,
    folds?: Folds,
  ): string | undefined {
    if (density === "full") return undefined;
    const wire = this.#wire;
    const key = `gv-${id}`;
    if (folds && !timeline) {
      return fullCard(folds.insides("full"), folds.around(id).at(-1) ?? "", id);
    }
    if (isRecording(wire)) {
      const variant = timeline?.state(at).at.get("full")?.get(key);
      return variant === undefined ? undefined : timeline?.look("full", key, variant);
    }
    this.#drawn ??= new DOMParser().parseFromString(wire.pictures.full ?? "<svg/>", "text/xml");
    const card = this.#drawn.getElementById(key);
    return card ? new XMLSerializer().serializeToString(card) : undefined;
  }
}

/** What is unfolded now. */
interface Shown {
  readonly id: string;
  readonly markup: string;
  readonly picture: Picture;
  readonly element: SVGGElement;
  readonly copy: SVGGElement;
  /** Leads from it to its card. */
  readonly leader: SVGGElement;
  readonly size: Size;
}

export class Unfolded {
  #shown: Shown | undefined;

  /** Shows the full look of a card, or nothing. `window` is the visible part of the picture, at a
      zoom of `k`. */
  show(
    picture: Picture,
    index: SvgIndex,
    id: string,
    markup: string | undefined,
    window: Box,
    k: number,
  ): void {
    const before = this.#shown;
    const card = index.cards.get(id);
    const own = card && frameOf(card);
    const isSame = before?.id === id && before.markup === markup && before.picture === picture;
    this.#shown = isSame ? before : card && markup ? made(picture, card, id, markup) : undefined;
    if (before !== this.#shown) before?.element.remove();
    if (!this.#shown || !own || window.width <= 0) {
      this.#shown?.element.remove();
      this.#shown = undefined;
      return;
    }
    const { element, copy, leader, size } = this.#shown;
    const readable = Math.max(READABLE, Math.min(k, WIDEST / size.width));
    const scale = Math.min(readable / k, window.width / size.width);
    const large = { width: size.width * scale, height: size.height * scale };
    const around = { ...surroundingsOf(picture, index, id), own, window };
    const box = placeBeside(large, around);
    lead(leader, lineBetween(box, own, [...around.keep, ...around.others]), box);
    copy.setAttribute("transform", `scale(${Math.ceil(scale * 100) / 100})`);
    element.setAttribute("transform", `translate(${round(box.x)} ${round(box.y)})`);
    // The same card at another step does not fade in again.
    if (before?.id !== id) element.classList.add("is-new");
    if (element.parentNode !== picture.svg) picture.svg.append(element);
  }
}

/** The full look of a card, undefined where the card says all of it already. */
function made(picture: Picture, card: Element, id: string, markup: string): Shown | undefined {
  const copy = picture.copy(markup);
  if (!copy || sameWords(card, copy)) return undefined;
  const size = trimmed(copy);
  if (!size) return undefined;
  const props = { class: "gradviz-unfolded", "aria-hidden": "true", "data-unfolds": id };
  const leader = svg("g", { class: "gradviz-leader" });
  return { id, markup, picture, element: svg("g", props, leader, copy), copy, leader, size };
}

/** Draws the line from what is unfolded to its card, from the corner of the former. */
function lead(leader: SVGGElement, line: readonly [Point, Point] | undefined, from: Box): void {
  leader.replaceChildren();
  if (!line) return;
  const [[x1, y1], [x2, y2]] = line.map(({ x, y }) => [round(x - from.x), round(y - from.y)]) as [
    [number, number],
    [number, number],
  ];
  leader.append(svg("line", { x1, y1, x2, y2 }), svg("circle", { cx: x2, cy: y2, r: DOT }));
}

/** What must stay visible around a card, from the attributes of the drawing: without a layout. */
function surroundingsOf(picture: Picture, index: SvgIndex, id: string) {
  const joined = new Set<string>();
  const keep: Box[] = [];
  const others: Box[] = [];
  const edges: Point[] = [];
  for (const edge of picture.svg.querySelectorAll(":scope > :is(.gv-edge, .gv-uses)")) {
    const { source = "", target = "", tensor = "" } = (edge as SVGElement).dataset;
    const ends = [source, target, tensor].map((end) => index.cardOf(end));
    const isOwn = ends.includes(id);
    const words = [...edge.querySelectorAll(":scope > g > rect")].map(boxOf);
    (isOwn ? keep : others).push(...words);
    if (!isOwn) continue;
    for (const end of ends) if (end && end !== id) joined.add(end);
    edges.push(...pointsOf(edge.querySelector("path")?.getAttribute("d") ?? ""));
  }
  for (const [other, shape] of index.cards) {
    const box = other === id ? undefined : frameOf(shape);
    if (box) (joined.has(other) ? keep : others).push(box);
  }
  return { keep, others, edges };
}

/** The box of a card in the picture. */
function frameOf(card: Element): Box | undefined {
  const rect = card.querySelector(":scope > .gv-card");
  if (!rect) return undefined;
  const box = boxOf(rect);
  let [x, y] = [box.x, box.y];
  for (let at: Element | null = card; at && at.localName === "g"; at = at.parentElement) {
    const move = /translate\(([-\d.]+)[ ,]+([-\d.]+)\)/.exec(at.getAttribute("transform") ?? "");
    x += Number(move?.[1] ?? 0);
    y += Number(move?.[2] ?? 0);
  }
  return { ...box, x, y };
}

function boxOf(rect: Element): Box {
  const [x = 0, y = 0, width = 0, height = 0] = ["x", "y", "width", "height"].map((name) =>
    Number(rect.getAttribute(name) ?? 0),
  );
  return { x, y, width, height };
}

/** Points along a path of straight lines and Bézier curves. */
function pointsOf(path: string): Point[] {
  const found: Point[] = [];
  let from: Point = { x: 0, y: 0 };
  for (const [, command = "", rest = ""] of path.matchAll(/([MLC])([^MLC]*)/g)) {
    const numbers = (rest.match(/-?[\d.]+/g) ?? []).map(Number);
    const points = Array.from({ length: numbers.length / 2 }, (_, i) => ({
      x: numbers[2 * i] as number,
      y: numbers[2 * i + 1] as number,
    }));
    const step = command === "C" ? 3 : 1;
    for (let i = 0; i + step <= points.length; i += step) {
      const curve = [from, ...points.slice(i, i + step)];
      if (command !== "M") found.push(...along(curve));
      from = curve.at(-1) as Point;
    }
  }
  return found;
}

/** Points of a curve by de Casteljau's algorithm. */
function along(curve: readonly Point[]): Point[] {
  return Array.from({ length: POINTS }, (_, i) => {
    const t = (i + 0.5) / POINTS;
    let points = curve;
    while (points.length > 1) {
      points = points.slice(1).map((to, j) => {
        const one = points[j] as Point;
        return { x: one.x + t * (to.x - one.x), y: one.y + t * (to.y - one.y) };
      });
    }
    return points[0] as Point;
  });
}

/** Whether a card says already what its full look says. */
function sameWords(card: Element, copy: Element): boolean {
  const words = (of: Element) =>
    [...of.querySelectorAll("text")]
      .filter((text) => !text.closest(".gv-port, .gv-stub, .gv-root, .gv-badge"))
      .map((text) => text.textContent)
      .sort()
      .join("\n");
  return words(card) === words(copy);
}

/** Takes away what belongs to the place of a card: its ports, and the room of its other looks. */
function trimmed(copy: Element): Size | undefined {
  for (const port of [...copy.children]) {
    if (port.matches(".gv-port, .gv-stub, .gv-root")) port.remove();
  }
  const card = copy.querySelector(":scope > .gv-card");
  if (!card) return undefined;
  const { width, height } = boxOf(card);
  const ends = [...copy.querySelectorAll("text, .gv-box")].map((part) =>
    part.localName === "text"
      ? Number(part.getAttribute("y") ?? 0) + 4
      : boxOf(part).y + boxOf(part).height,
  );
  const needed = Math.min(height, Math.max(...ends, 0) + PAD);
  card.setAttribute("height", String(needed));
  return { width, height: needed };
}

const round = (value: number) => Math.round(value * 100) / 100;
