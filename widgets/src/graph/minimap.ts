// A small picture of a large folded one with the window in it. Only for the pointer: keyboards have
// the arrow keys, Find and the crumbs.

import { claim, html, setProps, svg } from "../lib/dom";
import { drag } from "../lib/drag";
import type { Box } from "./camera";
import type { Composition } from "./composition";
import type { Viewport } from "./viewport";

/** Panes that a picture is large from which on there is one. */
const LARGE = 1.6;
const WIDTH = 150;
const HEIGHT = 110;
/** Between it and the rim of the window, and what it has around the picture. */
const RIM = 8;
const FRAME = 10;
const SIDES = ["width", "height"] as const;

/** Gives back what takes the picture that is shown; without one there is nothing. */
export function makeMinimap(viewport: Viewport): (composition: Composition | undefined) => void {
  const boxes = svg("g");
  const pane = svg("rect", { class: "is-window" });
  const picture = svg("svg", {}, boxes, pane);
  const element = html("div", { class: "gradviz-minimap", "aria-hidden": "true", hidden: true });
  element.append(picture);
  viewport.element.append(element);
  let content: Composition | undefined;
  let isRight = false;
  /** While it is dragged it stays where it is. */
  let held = false;

  const follow = () => {
    const { box, k } = viewport.window;
    const { width = 0, height = 0 } = content ?? {};
    const isLarge = width > LARGE * box.width || height > LARGE * box.height;
    element.hidden = !content || !box.width || !isLarge;
    if (element.hidden || !k) return;
    setProps(pane, { x: box.x, y: box.y, width: box.width, height: box.height });
    if (!held) element.style.left = `${corner(box, k)}px`;
  };
  /** Where its left side hides fewest cards: at the left of the window or at its right; where it was,
      if both hide as many. */
  const corner = (box: Box, k: number): number => {
    const [width, height] = SIDES.map((name) => Number(picture.getAttribute(name)) + FRAME) as [
      number,
      number,
    ];
    const bottom = viewport.element.clientHeight - RIM;
    const hidden = (left: number) =>
      content?.parts.filter((part) => {
        if (part.kind !== "card") return false;
        const [x, y] = [(part.x - box.x) * k, (part.y - box.y) * k];
        const isBeside = x > left + width || x + part.width * k < left;
        return !isBeside && y < bottom && y + part.height * k > bottom - height;
      }).length ?? 0;
    const [left, right] = [RIM, box.width * k - width - RIM] as const;
    const [atLeft, atRight] = [hidden(left), right > left ? hidden(right) : Infinity];
    if (atLeft !== atRight) isRight = atRight < atLeft;
    return isRight ? right : left;
  };
  viewport.onMove = follow;

  element.addEventListener("pointerdown", (event) => {
    claim(event);
    const go = ({ clientX, clientY }: PointerEvent) => {
      const frame = picture.getBoundingClientRect();
      const { width = 1, height = 1 } = content ?? {};
      const x = ((clientX - frame.left) / frame.width) * width;
      viewport.centre(x, ((clientY - frame.top) / frame.height) * height);
    };
    held = true;
    go(event);
    drag(element, event, go, () => {
      held = false;
    });
  });
  // A click here is no click on the picture.
  element.addEventListener("click", (event) => event.stopPropagation());

  return (composition) => {
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
}
