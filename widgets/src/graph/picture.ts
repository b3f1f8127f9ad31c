// From the SVG text of a document to an element that is safe to show: known elements, no script,
// no reference, ids of this view only.
import { SVG } from "../lib/dom";
import type { PanelContext } from "../panel_context";

const ELEMENTS = new Set(
  "g path polygon polyline line rect circle ellipse text tspan title desc style".split(" "),
);
const ATTRIBUTES =
  /^(id|class|role|transform|viewBox|width|height|d|points|x|y|x1|x2|y1|y2|dx|dy|cx|cy|r|rx|ry|style|lengthAdjust|textLength|preserveAspectRatio|opacity|paint-order|xml:space|(aria|data|fill|stroke|text|font|dominant|letter|shape|vector)(-[a-z-]+)?)$/;
// CSS that could load something or hide its content.
const LOADS = /url\(|image|@import|@font-face|@namespace|src\(|expression|\\/i;

export interface Picture {
  readonly svg: SVGSVGElement;
  /** Full texts, taken out of <title>: the browser's own tooltip cannot be dismissed. */
  readonly titles: WeakMap<Element, string>;
  /** Replaces the element with this id by the markup; place and focus stay. Calls `before` with
   * the element. */
  patch(key: string, markup: string, before?: (element: Element) => void): void;
  /** A copy of a card as it is drawn elsewhere, to be laid over the picture: without ids, and without
      anything that would make it an item of its own. */
  copy(markup: string): SVGGElement | undefined;
}

/** The legend has the colours of the picture, so they act in the whole widget. */
const ROOT = ".gradviz-root";

/** Throws when the text is not an SVG. `scope` is where its style sheet acts. */
export function parsePicture(source: string, prefix: string, scope = ROOT): Picture {
  const svg = parse(source, prefix, scope);
  const titles = new WeakMap<Element, string>();
  takeTitles(svg, titles);
  // Cards of a folded picture are inside of what puts them at their places.
  const parts = new Map([...svg.querySelectorAll("[id]")].map((part) => [part.id, part]));
  const known = new Map<string, Element>();
  const patch = (key: string, markup: string, before?: (element: Element) => void) => {
    const target = parts.get(`${prefix}-${key}`);
    if (!target) return;
    const text = markup || `<g id="${key}" class="gv-absent"/>`;
    const made =
      known.get(text) ?? parse(`<svg xmlns="${SVG}">${text}</svg>`, prefix, scope).children[0];
    if (!made || made.id !== target.id)
      throw new Error(`the part ${key} of the picture is damaged`);
    known.set(text, made);
    before?.(target);
    replace(target, made.cloneNode(true) as Element);
    takeTitles(target, titles);
  };
  const copy = (markup: string) => {
    const made = parse(`<svg xmlns="${SVG}">${markup}</svg>`, prefix, scope).children[0];
    if (made?.localName !== "g") return undefined;
    takeTitles(made, titles);
    for (const part of [made, ...made.querySelectorAll("*")]) anonymise(part);
    return made as SVGGElement;
  };
  return { svg, titles, patch, copy };
}

function anonymise(part: Element): void {
  for (const { name } of [...part.attributes]) {
    if (/^(id|role|tabindex|(data|aria)-.*)$/.test(name)) part.removeAttribute(name);
  }
}

/** Attributes that this view has added to an element. */
const OWN = /^(tabindex|data-lm-suppress-shortcuts)$/;

function replace(target: Element, made: Element): void {
  for (const { name } of [...target.attributes]) {
    if (!made.hasAttribute(name) && !OWN.test(name)) target.removeAttribute(name);
  }
  for (const { name, value } of made.attributes) target.setAttribute(name, value);
  target.replaceChildren(...made.childNodes);
}

/** What the pointer is on in a picture: the item, of which `idAt` says the id, is lit, and the full text is
 * told. */
export function followPointer(
  { store, tooltip }: PanelContext,
  element: HTMLElement,
  now: () => Picture,
  idAt: (target: EventTarget | null) => string,
): void {
  element.addEventListener("pointerover", ({ target }) => {
    store.set("lit", idAt(target));
    const titled = nearestTitle(target, now());
    tooltip.point(titled, titled ? (now().titles.get(titled) ?? "") : "");
  });
  element.addEventListener("pointerleave", () => {
    store.set("lit", "");
    tooltip.point(undefined, "");
  });
}

/** The hovered element that has a full text. */
function nearestTitle(target: EventTarget | null, picture: Picture): Element | undefined {
  let found = target instanceof Element ? target : null;
  while (found && !picture.titles.has(found)) found = found.parentElement;
  return found && found !== picture.svg ? found : undefined;
}

function takeTitles(within: Element, titles: WeakMap<Element, string>): void {
  titles.delete(within);
  for (const title of [...within.querySelectorAll("title")]) {
    if (title.parentElement) titles.set(title.parentElement, title.textContent ?? "");
    title.remove();
  }
}

function parse(source: string, prefix: string, scope: string): SVGSVGElement {
  const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
  const root = parsed.documentElement;
  if (
    root.namespaceURI !== SVG ||
    root.localName !== "svg" ||
    parsed.querySelector("parsererror")
  ) {
    throw new Error("the picture is not a readable SVG");
  }
  // Before it becomes part of this page: an <img> starts to load, and to run its onerror, as soon
  // as a live document owns it.
  clean(root, prefix, scope);
  return document.importNode(root, true) as Element as SVGSVGElement;
}

function clean(element: Element, prefix: string, scope: string): void {
  for (const attribute of [...element.attributes]) {
    const { name, value } = attribute;
    const words = /^(aria-|data-|id$|class$)/.test(name);
    if (!ATTRIBUTES.test(name) || (!words && LOADS.test(value))) {
      element.removeAttributeNode(attribute);
    }
  }
  if (element.id) element.id = `${prefix}-${element.id}`;
  for (const child of [...element.childNodes]) {
    if (child.nodeType === Node.TEXT_NODE) continue;
    const known = child instanceof Element && child.namespaceURI === SVG;
    if (!known || !ELEMENTS.has(child.localName)) child.remove();
    else if (child.localName === "style")
      child.textContent = scopeCss(child.textContent ?? "", scope);
    else clean(child, prefix, scope);
  }
}

/** CSS that acts inside `scope` only; nothing at all when it could load or break out. */
export function scopeCss(css: string, scope = ROOT): string {
  const plain = css.replace(/\/\*[\s\S]*?\*\//g, "");
  let depth = 0;
  for (const sign of plain) {
    if (sign === "{") depth += 1;
    if (sign === "}") depth -= 1;
    if (depth < 0) return "";
  }
  const braceInText = /(["'])[^"']*[{}][^"']*\1/.test(plain);
  if (depth !== 0 || braceInText || LOADS.test(plain) || plain.includes("<")) return "";
  return `${scope}{${plain}}`;
}
