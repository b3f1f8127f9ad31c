// From the SVG text of the wire to an element that is safe to show: known elements, no script,
// no reference, ids of this view only.
import { SVG } from "./dom";

const ELEMENTS = new Set(
  "svg g path polygon polyline line rect circle ellipse text tspan title desc style".split(" "),
);
const ATTRIBUTES =
  /^(id|class|role|transform|viewBox|width|height|d|points|x|y|x1|x2|y1|y2|dx|dy|cx|cy|r|rx|ry|style|lengthAdjust|textLength|preserveAspectRatio|opacity|paint-order|xml:space|(aria|data|fill|stroke|text|font|dominant|letter|shape|vector)(-[a-z-]+)?)$/;
// Anything through which CSS could load something or hide what it says.
const LOADS = /url\(|image|@import|@font-face|@namespace|src\(|expression|\\/i;

export interface Picture {
  readonly svg: SVGSVGElement;
  /** Full texts, taken out of <title>: the browser's own tooltip cannot be dismissed. */
  readonly titles: ReadonlyMap<Element, string>;
}

/** Throws when the text is not an SVG. */
export function parsePicture(source: string, prefix: string): Picture {
  const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
  const root = parsed.documentElement;
  if (
    root.namespaceURI !== SVG ||
    root.localName !== "svg" ||
    parsed.querySelector("parsererror")
  ) {
    throw new Error("the picture is not a readable SVG");
  }
  const titles = new Map<Element, string>();
  const picture = clean(document.importNode(root, true), prefix, titles);
  return { svg: picture as SVGSVGElement, titles };
}

function clean(element: Element, prefix: string, titles: Map<Element, string>): Element {
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
    const name = child instanceof Element && child.namespaceURI === SVG ? child.localName : "";
    if (!ELEMENTS.has(name) || (name === "svg" && element.localName !== "svg")) {
      child.remove();
    } else if (name === "title") {
      titles.set(element, child.textContent ?? "");
      child.remove();
    } else if (name === "style") {
      child.textContent = scopeCss(child.textContent ?? "");
    } else {
      clean(child as Element, prefix, titles);
    }
  }
  return element;
}

/** CSS that acts inside gradviz only; nothing at all when it could load or break out. */
export function scopeCss(css: string): string {
  const plain = css.replace(/\/\*[\s\S]*?\*\//g, "");
  let depth = 0;
  for (const sign of plain) {
    if (sign === "{") depth += 1;
    if (sign === "}") depth -= 1;
    if (depth < 0) return "";
  }
  const braceInText = /(["'])[^"']*[{}][^"']*\1/.test(plain);
  if (depth !== 0 || braceInText || LOADS.test(plain) || plain.includes("<")) return "";
  return `.gradviz-root{${plain}}`;
}
