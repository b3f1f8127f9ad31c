// The line between code and graph: dragged, or moved by arrow keys (ARIA Authoring Practices, window
// splitter). Its place is that of this view, and is not stored.
import { claim, focusable, html, onResize, setProps } from "../lib/dom";
import { drag } from "../lib/drag";
import type { PanelContext } from "../panel_context";

const STEP = 16;
/** The narrowest column for code. */
const LEAST = 200;
/** The narrowest graph. */
const LEAST_BESIDE = 260;

/** `beside` is the column at its left. */
export function makeSeparator(context: PanelContext, beside: HTMLElement): HTMLElement {
  const element = focusable(
    html("div", {
      class: "gradviz-separator",
      role: "separator",
      "aria-orientation": "vertical",
      "aria-label": "Width of the code",
      "aria-controls": beside.id,
    }),
    0,
  );
  context.tooltip.attach(
    element,
    () => "Drag, or ← → : width of the code; double click: as before",
  );
  const frame = () => beside.closest<HTMLElement>(".gradviz-frame") ?? beside;
  const most = () => Math.max(LEAST, frame().clientWidth - LEAST_BESIDE);
  const tell = () => {
    setProps(element, {
      "aria-valuenow": Math.round(beside.offsetWidth),
      "aria-valuemin": LEAST,
      "aria-valuemax": Math.round(most()),
    });
  };
  const set = (width: number) => {
    const kept = Math.max(LEAST, Math.min(width, most()));
    frame().style.setProperty("--side", `${kept}px`);
    tell();
  };
  const reset = () => {
    frame().style.removeProperty("--side");
    tell();
  };

  element.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const width = {
      ArrowLeft: beside.offsetWidth - STEP,
      ArrowRight: beside.offsetWidth + STEP,
      Home: LEAST,
      End: most(),
    }[event.key];
    if (width === undefined) return;
    claim(event);
    set(width);
  });
  element.addEventListener("dblclick", reset);
  element.addEventListener("pointerdown", (down) => {
    if (down.button !== 0) return;
    const start = beside.offsetWidth - down.clientX;
    drag(element, down, ({ clientX }) => set(start + clientX));
  });
  onResize(beside, context.signal, tell);
  tell();
  return element;
}
