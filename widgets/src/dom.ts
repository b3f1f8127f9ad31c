// Making elements. Text goes in as text nodes only, so no fact of a graph can become markup.

export const SVG = "http://www.w3.org/2000/svg";

type Props = Record<string, string | number | boolean | undefined>;

/** An HTML element with attributes; `true` gives an empty attribute, false and undefined none. */
export function html<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  setProps(made, props);
  made.append(...children);
  return made;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS(SVG, tag);
  setProps(made, props);
  made.append(...children);
  return made;
}

export function setProps(target: Element, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === false) target.removeAttribute(name);
    else target.setAttribute(name, value === true ? "" : String(value));
  }
}

// JupyterLab matches its shortcuts against the focused element itself, so the attribute is needed
// on each of them; on a common ancestor "b" would still insert a cell.
const OURS = { "data-lm-suppress-shortcuts": "true" };

/** Lets an element take focus without JupyterLab taking its keys. */
export function focusable<T extends Element>(target: T, tabindex?: 0 | -1): T {
  setProps(target, OURS);
  if (tabindex !== undefined) target.setAttribute("tabindex", String(tabindex));
  return target;
}

/** Says that a key was handled here: neither the browser nor the notebook acts on it. */
export function take(event: Event): void {
  event.preventDefault();
  event.stopPropagation();
}

const ICONS = {
  "zoom-out": "M4 9h10M9 3a6 6 0 1 0 0 12A6 6 0 1 0 9 3M13.5 13.5 18 18",
  plus: "M10 4v12M4 10h12",
  minus: "M4 10h12",
  fit: "M3 8V3h5M12 3h5v5M17 12v5h-5M8 17H3v-5",
  engine: "M6 17V4M3 7l3-3 3 3M14 3v13M11 13l3 3 3-3",
  save: "M10 3v10M6 9l4 4 4-4M3 17h14",
  find: "M8.5 3a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11M12.5 12.5 17 17",
  help: "M7 7.5a3 3 0 1 1 4.2 2.7C10.4 10.6 10 11 10 12M10 15v.5",
  close: "M5 5l10 10M15 5 5 15",
  up: "M5 12l5-5 5 5",
  down: "M5 8l5 5 5-5",
  sort: "M6 8l4-4 4 4M6 12l4 4 4-4",
  left: "M12 5l-5 5 5 5",
  right: "M8 5l5 5-5 5",
  first: "M4.5 4v12M15 4l-7 6 7 6",
  back: "M13 4l-7 6 7 6",
  forward: "M7 4l7 6-7 6",
  last: "M15.5 4v12M5 4l7 6-7 6",
  play: "M6.5 4l10 6-10 6z",
  pause: "M7 4.5v11M13 4.5v11",
  detail: "M4 3v14M4 6h5M4 14h5M12 6h5M12 14h5M12 10h5",
  refused: "M10 3a7 7 0 1 0 0 14 7 7 0 1 0 0-14M7.5 7.5l5 5M12.5 7.5l-5 5",
  copy: "M7 7h10v10H7zM13 7V3H3v10h4",
  error: "M10 3l7.5 13.5h-15zM10 8v4M10 14v.5",
} as const;

export type Icon = keyof typeof ICONS;

export function icon(name: Icon): SVGElement {
  return svg(
    "svg",
    { class: "gradviz-icon", viewBox: "0 0 20 20", "aria-hidden": "true" },
    svg("path", { d: ICONS[name] }),
  );
}

/** Half a surrogate pair becomes U+FFFD; encodeURIComponent would throw on it. */
export function wellFormed(text: string): string {
  return text.toWellFormed?.() ?? text.replace(/[\ud800-\udfff]/gu, "\ufffd");
}

/** Like scrollIntoView, but only `frame` moves; `above` pixels at its top are covered. */
export function scrollWithin(frame: HTMLElement, target: HTMLElement, above = 0): void {
  const start = target.getBoundingClientRect().top - frame.getBoundingClientRect().top;
  const top = start - frame.clientTop + frame.scrollTop;
  const bottom = top + target.offsetHeight - frame.clientHeight;
  if (frame.scrollTop > top - above) frame.scrollTop = top - above;
  else if (frame.scrollTop < bottom) frame.scrollTop = bottom;
}

let views = 0;

/** A prefix for ids that no other view on the page has, whichever module instance made it. */
export function uniquePrefix(): string {
  views += 1;
  return `gradviz-${Math.random().toString(36).slice(2, 8)}${views}`;
}
