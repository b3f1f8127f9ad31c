// How high the widget may be: never higher than what it is scrolled in, so that all of it can be in
// view at once.

const TALLEST = 620;
const LEAST = 380;
/** What stays free above and below. */
const MARGIN = 12;
/** What a browser takes of the screen for itself, about. */
const BROWSER = 170;

/** Keeps `--room` of the widget: the height in pixels that it may have. */
export function followRoom(root: HTMLElement, signal: AbortSignal): void {
  let scroller: HTMLElement | undefined;
  const measure = () => {
    const room = Math.min(scroller?.clientHeight || Number.POSITIVE_INFINITY, windowHeight());
    const height = Math.max(LEAST, Math.min(room - MARGIN, TALLEST));
    root.style.setProperty("--room", `${Math.round(height)}px`);
  };
  addEventListener("resize", measure, { signal });
  measure();
  if (!("ResizeObserver" in globalThis)) return;
  // The first call is before the first paint, when the widget has a place.
  const observer = new ResizeObserver(() => {
    const found = outermostScroller(root);
    if (found !== scroller) {
      if (scroller) observer.unobserve(scroller);
      scroller = found;
      if (scroller) observer.observe(scroller);
    }
    measure();
  });
  observer.observe(root);
  signal.addEventListener("abort", () => observer.disconnect());
}

/** The height of the window. A frame that grows with its content says nothing about the screen. */
function windowHeight(): number {
  const framed = window.parent !== window;
  return framed && innerHeight < LEAST ? screen.availHeight - BROWSER : innerHeight;
}

/** What a notebook scrolls in: those further inside may be as high as their content. */
function outermostScroller(root: HTMLElement): HTMLElement | undefined {
  let found: HTMLElement | undefined;
  for (let around = root.parentElement; around; around = around.parentElement) {
    const scrolls = /auto|scroll/.test(getComputedStyle(around).overflowY);
    if (scrolls && around !== document.body && around !== document.documentElement) found = around;
  }
  return found;
}
