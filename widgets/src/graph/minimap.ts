// A small picture of a large folded one with the window in it. Only for the pointer: keyboards have
// the arrow keys, Find and the crumbs.

import { html, setProps, svg } from "../lib/dom";
import type { PanelContext } from "../panel_context";
import type { Composition } from "./composition";
import type { Viewport } from "./viewport";

/** Panes that a picture is large from which on there is one. */
const LARGE = 1.6;
const WIDTH = 150;
const HEIGHT = 110;

export interface Minimap {
  /** Takes the picture that is shown; without one there is nothing. */
  show(composition: Composition | undefined): void;
}

export function makeMinimap({ signal }: PanelContext, viewport: Viewport): Minimap {
  const boxes = svg("g");
  const pane = svg("rect", { class: "is-window" });
  const picture = svg("svg", {}, boxes, pane);
  const element = html("div", { class: "gradviz-minimap", "aria-hidden": "true", hidden: true });
  element.append(picture);
  viewport.element.append(element);
  let content: Composition | undefined;

  const follow = () => {
    const { box, k } = viewport.window;
    const { width = 0, height = 0 } = content ?? {};
    const isLarge = width > LARGE * box.width || height > LARGE * box.height;
    element.hidden = !content || !box.width || !isLarge;
    if (element.hidden || !k) return;
    setProps(pane, { x: box.x, y: box.y, width: box.width, height: box.height });
  };
  viewport.onMove = follow;

  element.addEventListener("pointerdown", (event) => {
    event.stopPropagation();
    event.preventDefault();
    const gesture = new AbortController();
    const go = ({ clientX, clientY }: PointerEvent) => {
      const frame = picture.getBoundingClientRect();
      const { width = 1, height = 1 } = content ?? {};
      const x = ((clientX - frame.left) / frame.width) * width;
      viewport.centre(x, ((clientY - frame.top) / frame.height) * height);
    };
    go(event);
    element.setPointerCapture(event.pointerId);
    element.addEventListener("pointermove", go, { signal: gesture.signal });
    for (const end of ["pointerup", "pointercancel"]) {
      element.addEventListener(end, () => gesture.abort(), { signal: gesture.signal });
    }
    signal.addEventListener("abort", () => gesture.abort(), { once: true });
  });
  // A click here is no click on the picture.
  element.addEventListener("click", (event) => event.stopPropagation());

  const show = (composition: Composition | undefined) => {
    content = composition;
    if (composition) {
      const { width, height, parts } = composition;
      const scale = Math.min(WIDTH / width, HEIGHT / height);
      setProps(picture, {
        viewBox: `0 0 ${width} ${height}`,
        width: Math.max(12, Math.round(width * scale)),
        height: Math.max(12, Math.round(height * scale)),
        preserveAspectRatio: "none",
      });
      const drawn = parts.flatMap((part) => {
        if (part.kind === "link") return [];
        const { x, y, width, height } = part;
        return [svg("rect", { class: `is-${part.kind}`, x, y, width, height })];
      });
      boxes.replaceChildren(...drawn);
    }
    follow();
  };
  return { show };
}
