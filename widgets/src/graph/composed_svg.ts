// The SVG text of a composition. Cards are as Python drew them; links as
// gradviz/view/graph/card_svg.py draws them: a curve with an arrow head at each end.

import type { Fold, Insides, Pair } from "../documents/folds";
import type { Density } from "../documents/graph";
import type { AnyDocument } from "../documents/parse";
import { svgOf } from "../documents/pictures";
import type { Folds, Unfolding } from "../model/folds";
import { type Composition, compose, type Frame, HEADER, type PlacedLink } from "./composition";

/** Pixels at the end of a header that are free for its signs. */
const ASIDE = 28;
/** Length and half width of an arrow head. */
const ARROW: Pair = [8, 3.4];
/** Distance between the end of a link and what is written on it: the arrow head is there. */
const AWAY = 10;
/** Height of a pill, and the width of a character in it. */
const PILL = 15;
const CHARACTER = 6.1;

/** What is drawn of a folded graph now. */
export function compositionOf({ folds, opened, root }: Unfolding, density: Density): Composition {
  return compose(folds.insides(density), opened, folds.direction, root);
}

/** A picture whose root element and style sheet are those of every density. */
export function aroundOf(wire: AnyDocument, density: Density): string {
  return svgOf(wire, density) || svgOf(wire, wire.density);
}

/** The picture `around` with this content. */
export function svgOfComposition(
  around: string,
  composition: Composition,
  folds: Folds,
  insides: Insides,
  look?: Look,
): string {
  const { width, height, parts } = composition;
  const [start = "<svg>"] = /<svg[^>]*>/.exec(around) ?? [];
  const [style = ""] = /<style[^>]*>[\s\S]*?<\/style>/.exec(around) ?? [];
  const size = `viewBox="0 0 ${px(width)} ${px(height)}" width="${px(width)}" height="${px(height)}"`;
  const open = start.replace(/ (viewBox|width|height)="[^"]*"/g, "").replace(/\/?>$/, ` ${size}>`);
  const drawn = parts.map((part) => {
    if (part.kind === "link") {
      return linkMarkup(part, folds.direction === "TB", look?.(`gv-${part.link.id}`));
    }
    if (part.kind === "frame") {
      const header = look?.(`gv-header-${part.id}`) ?? insides[part.id]?.header ?? "";
      return frameMarkup(part, folds.get(part.id), header);
    }
    const markup = look ? look(`gv-${part.id}`) || absent(`gv-${part.id}`) : part.markup;
    return `<g transform="translate(${px(part.x)} ${px(part.y)})">${markup}</g>`;
  });
  return `${open}${style}${drawn.join("")}</svg>`;
}

/** Of a recording, the text of an element at the step that is shown: a card with its box at (0, 0), of
    a link an element with its classes; "" where it does not exist. */
export type Look = (key: string) => string;

const absent = (key: string) => `<g id="${xml(key)}" class="gv-absent"/>`;

/** Says the text of an element of a picture where it has another look now; undefined of a box that is
    open: it has a frame and a header. */
export function patchesOf(composition: Composition | undefined, isDown: boolean) {
  const parts = new Map(
    (composition?.parts ?? []).map((part) => [
      `gv-${part.kind === "link" ? part.link.id : part.id}`,
      part,
    ]),
  );
  return (key: string, look: string): string | undefined => {
    const part = parts.get(key);
    if (part?.kind === "frame") return undefined;
    const frame = parts.get(key.replace(/^gv-header-/, "gv-"));
    if (!part && frame?.kind === "frame") return fitting(look, frame.width);
    return part?.kind === "link" ? linkMarkup(part, isDown, look) : look;
  };
}

function frameMarkup(frame: Frame, fold: Fold | undefined, header: string): string {
  const { id, x, y, width, height } = frame;
  const said = ["unfolded", fold?.label ?? id, ...(fold?.words ?? [])].join(", ");
  return (
    `<g id="gv-${xml(id)}" class="gv-fold gv-open" data-id="${xml(id)}" role="group"` +
    ` aria-label="${xml(said)}" transform="translate(${px(x)} ${px(y)})">` +
    `<rect class="gv-frame" width="${px(width)}" height="${px(height)}" rx="6"/>` +
    `<rect class="gv-header" width="${px(width)}" height="${HEADER}" rx="6"/>${fitting(header, width)}</g>`
  );
}

/** A header without the facts for which it is too narrow; gradviz/view/graph/fold_header.py does the same. */
export function fitting(header: string, width: number): string {
  const facts = [...header.matchAll(/<g class="gv-fact" data-end="([\d.]+)">/g)];
  const out = facts.find(([, end]) => Number(end) > width - ASIDE);
  if (!out) return header;
  const last = facts.at(-1) as RegExpExecArray;
  const after = header.indexOf("</g>", last.index) + "</g>".length;
  const first = header.slice(out.index, header.indexOf("</g>", out.index) + "</g>".length);
  const more = first.replace(/>[^<]+</, ">· …<");
  return header.slice(0, out.index) + more + header.slice(after);
}

/** `look` is that of a step, "" where the link does not exist at it; undefined where there are no steps. */
function linkMarkup(placed: PlacedLink, isDown: boolean, look?: string): string {
  const { link, points, begins, ends } = placed;
  const name = link.is_edge ? "gv-edge" : "gv-uses";
  if (look === "") return `<g id="gv-${xml(link.id)}" class="${name} gv-absent"/>`;
  const tail = begins && link.tail[0] ? link.tail_reach : NONE;
  const head = ends && link.head[0] ? link.head_reach : NONE;
  const [first, last] = [points[0], points.at(-1)] as [Pair, Pair];
  const [start, end] = [plus(first, tail), plus(last, head)];
  let line = `M${pair(start)}`;
  line += isNone(tail) ? "C" : `L${pair(first)}C`;
  line += points.slice(1).map(pair).join(" ");
  if (!isNone(head)) line += `L${pair(end)}`;
  const into = ends ? arrow(end, isNone(head) ? (points.at(-2) as Pair) : last, points) : "";
  const back = begins ? arrow(start, isNone(tail) ? (points[1] as Pair) : first, points) : "";
  const props = {
    class: /class="([^"]*)"/.exec(look ?? "")?.[1] ?? name,
    ...(link.id ? { id: `gv-${link.id}` } : {}),
    "data-source": link.source,
    ...(link.is_edge ? { "data-target": link.target } : { "data-tensor": link.target }),
    ...(link.slot === null ? {} : { "data-slot": String(link.slot) }),
    "aria-hidden": "true",
  };
  const written = Object.entries(props).map(([name, value]) => ` ${name}="${xml(value)}"`);
  const heads = link.is_edge
    ? `${headMarkup("data", into)}${headMarkup("engine", back)}${countMarkup(link.count, last, isDown)}`
    : "";
  return `<g${written.join("")}><path d="${line}"/>${heads}</g>`;
}

const headMarkup = (name: string, points: string) =>
  points && `<polygon class="gv-head gv-head-${name}" points="${points}"/>`;

/** How many entries of next_functions a link is, where it ends. */
function countMarkup(count: number, [x, y]: Pair, isDown: boolean): string {
  if (count <= 1) return "";
  const word = `×${count.toLocaleString("en")}`;
  const width = word.length * CHARACTER + 12;
  const [left, top] = isDown ? [x - width / 2, y - AWAY - PILL] : [x - AWAY - width, y - PILL / 2];
  return (
    `<g class="gv-port"><title>${count.toLocaleString("en")} entries of next_functions</title>` +
    `<rect x="${px(left)}" y="${px(top)}" width="${px(width)}" height="${PILL}" rx="7.5"/>` +
    `<text x="${px(left + 6)}" y="${px(top + 11)}">${word}</text></g>`
  );
}

function arrow(tip: Pair, from: Pair, points: readonly Pair[]): string {
  const [first, last] = [points[0], points.at(-1)] as [Pair, Pair];
  const before = same(tip, from) ? (same(tip, last) ? first : last) : from;
  const length = Math.hypot(tip[0] - before[0], tip[1] - before[1]) || 1;
  const [dx, dy] = [(tip[0] - before[0]) / length, (tip[1] - before[1]) / length];
  const base: Pair = [tip[0] - ARROW[0] * dx, tip[1] - ARROW[0] * dy];
  const side: Pair = [-dy * ARROW[1], dx * ARROW[1]];
  return [tip, plus(base, side), [base[0] - side[0], base[1] - side[1]] as const]
    .map(pair)
    .join(" ");
}

const NONE: Pair = [0, 0];
const same = (one: Pair, other: Pair) => one[0] === other[0] && one[1] === other[1];
const isNone = (reach: Pair) => same(reach, NONE);
const plus = (one: Pair, other: Pair): Pair => [one[0] + other[0], one[1] + other[1]];
/** A length with at most one decimal. */
const px = (value: number) => String(Math.round(value * 10) / 10);
const pair = ([x, y]: Pair) => `${px(x)},${px(y)}`;

function xml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** The full look of a card of a folded picture, which may be in any inside. */
export function fullCard(insides: Insides, fold: string, id: string): string | undefined {
  return insides[fold]?.cards.find((card) => card.id === id)?.markup;
}
