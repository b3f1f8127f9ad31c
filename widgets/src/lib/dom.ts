// Making elements. Text goes in as text nodes only, so no fact of a graph can become markup.

export const SVG = "http://www.w3.org/2000/svg";

type Props = Record<string, string | number | boolean | undefined>;

/** An HTML element with attributes; `true` gives an empty attribute, false and undefined none. */
export function html<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), props, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[K] {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled<T extends Element>(made: T, props: Props, children: (Node | string)[]): T {
  setProps(made, props);
  made.append(...children);
  return made;
}

/** What stands under a heading. */
export function under(heading: string, css: string, ...content: Node[]): HTMLElement {
  return html(
    "div",
    { class: css },
    html("div", { class: "gradviz-heading" }, heading),
    ...content,
  );
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
export function claim(event: Event): void {
  event.preventDefault();
  event.stopPropagation();
}

/** Puts other children into an element. The focus stays on the button about the same, else on the one at
 * the same place, else it goes to `heir`. */
export function refill(
  element: HTMLElement,
  heir: HTMLElement,
  ...children: (Node | string)[]
): void {
  const stops = () => [...element.querySelectorAll<HTMLElement>("button, summary")];
  const about = ({ dataset, textContent }: HTMLElement) =>
    dataset.word ?? dataset.line ?? textContent;
  const before = stops();
  const at = before.indexOf(document.activeElement as HTMLElement);
  element.replaceChildren(...children);
  const focused = before[at];
  if (!focused) return;
  const now = stops();
  (now.find((one) => about(one) === about(focused)) ?? now[at] ?? heir).focus();
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

/** Calls whenever the size of an element changes, and when it gets its first one. */
export function onResize(element: Element, signal: AbortSignal, call: () => void): void {
  if (!("ResizeObserver" in globalThis)) return;
  const observer = new ResizeObserver(call);
  observer.observe(element);
  signal.addEventListener("abort", () => observer.disconnect());
}

/** Says sentences to a screen reader, from an element that is not seen. */
export function makeLive(role?: "status"): [HTMLElement, (sentence: string) => void] {
  const live = html("div", { class: "gradviz-hidden", role, "aria-live": "polite" });
  const announce = (sentence: string) => {
    live.textContent = sentence;
  };
  return [live, announce];
}

let views = 0;

/** A prefix for ids that no other view on the page has, whichever module instance made it. */
export function uniquePrefix(): string {
  views += 1;
  return `gradviz-${Math.random().toString(36).slice(2, 8)}${views}`;
}
