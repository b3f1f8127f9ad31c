// The window onto the picture: drag, pinch, zoom, fit, and the view of a step.

import { makeButton } from "../lib/button";
import { claim, html, onResize, SVG } from "../lib/dom";
import type { PanelContext } from "../panel_context";
import {
  AROUND,
  type Box,
  type Camera,
  centre,
  clamp,
  fitZoom,
  follow,
  hold,
  overflows,
  readableZoom,
  reveal,
  type Size,
  viewOf,
  viewOfAll,
  zoomAt,
} from "./camera";
import { listenForPinch } from "./pinch";

const DRAG_THRESHOLD = 4;
const PAN_STEP = 80;
const WHEEL_SPEED = 0.0025;
/** Parts of a unit of the picture in which boxes are measured. */
const GRID = 8;
/** As long as in graph_panel.css. */
const GLIDE_MS = 240;

type Direction = "up" | "left" | "right" | "down";
const PAN: Record<Direction, readonly [number, number]> = {
  left: [PAN_STEP, 0],
  up: [0, PAN_STEP],
  down: [0, -PAN_STEP],
  right: [-PAN_STEP, 0],
};
export const ARROWS: Record<string, Direction> = {
  ArrowUp: "up",
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowDown: "down",
};

/** The element that the window is about, and those that it is joined to. */
export interface Shapes {
  readonly card: Element;
  readonly around: readonly Element[];
}

interface Showing {
  readonly whole?: number | undefined;
  readonly isSame?: boolean;
  readonly stays?: { readonly card: Element; readonly before: Box } | undefined;
}

export class Viewport {
  readonly element = html("div", { class: "gradviz-viewport" });
  /** Buttons that move the window. */
  readonly pad: HTMLElement;
  /** Called after every change of the zoom. */
  onZoom: (k: number) => void = () => {};
  /** Called after every change of the size of the window, and of the zoom. */
  onView: () => void = () => {};
  /** Called after every move of the window. */
  onMove: () => void = () => {};
  /** Called when the window has a size, so that it can be measured. */
  onShow: () => void = () => {};
  /** The boxes of the picture that is shown next: it is shown smaller than can be read well only
      where all of them are seen then; undefined where some of it is enough. */
  cards: readonly Box[] | undefined;
  #camera: Camera = { x: 0, y: 0, k: 1 };
  #content: Size = { width: 1, height: 1 };
  /** The room that the pictures of one graph needed: it does not shrink while boxes are folded. */
  #room: Size = { width: 1, height: 1 };
  #readable = 1;
  /** The zoom that is enough for a picture of few boxes, of which more are seen then. */
  #whole = Number.POSITIVE_INFINITY;
  #svg: SVGSVGElement | undefined;
  #subject: () => Shapes | undefined = () => undefined;
  /** Whether a person has moved the window: it then goes only where it must. */
  #touched = false;
  /** Where a box stayed in its place when the picture around it was replaced: nothing moves from
      there that need not. */
  #held: Camera | undefined;
  #stepped = Number.NEGATIVE_INFINITY;
  /** How much at the right and at the bottom something lies over. */
  #covered: Size = { width: 0, height: 0 };
  #listener: (content: Size, readable: number) => void = () => {};

  constructor({ signal, tooltip }: PanelContext) {
    this.pad = this.#makePad(tooltip);
    this.element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.element.addEventListener("pointerdown", (event) => this.#drag(event));
    listenForPinch(this.element, (from, to, factor) => {
      const { x, y, k } = zoomAt(this.#camera, from, factor);
      this.#touched = true;
      this.#apply({ k, x: x + to.x - from.x, y: y + to.y - from.y });
    });
    onResize(this.element, signal, () => this.#resized());
  }

  /** Shows a picture, and of a large one the part that `subject` says; not smaller than `whole`,
      or than can be read well. `isSame`: another view of the same graph, of which a card that was at
      a place before `stays` where a person sees it. */
  show(
    svg: SVGSVGElement,
    subject: () => Shapes | undefined,
    { whole, isSame, stays }: Showing = {},
  ): void {
    this.#whole = whole ?? Number.POSITIVE_INFINITY;
    if (!isSame) this.#room = { width: 1, height: 1 };
    const same = this.#take(svg, subject);
    if (stays && (same || this.#touched)) {
      const [{ x, y, k }, after] = [this.#camera, this.boxOf(stays.card)];
      this.#hold({
        k,
        x: x + k * (stays.before.x - after.x),
        y: y + k * (stays.before.y - after.y),
      });
    } else if (same && this.#touched) this.#apply(this.#camera);
    else this.#home();
  }

  /** Shows another picture in which a box of the one before is in another place, or larger: what a
      person looks at stays where it is. */
  replace(svg: SVGSVGElement, subject: () => Shapes | undefined, before: Box, after: Box): void {
    const camera = this.#camera;
    const { box } = this.window;
    const isSeen =
      before.y < box.y + box.height && before.y + Math.min(before.height, box.height) > box.y;
    this.#take(svg, subject);
    this.#touched = isSeen;
    if (isSeen || !this.element.clientWidth) {
      this.#hold(hold(camera, before, after, this.#size()));
    } else this.#home();
  }

  /** Takes a picture; says whether it has the size of the one before. */
  #take(svg: SVGSVGElement, subject: () => Shapes | undefined): boolean {
    const [, , width, height] = (svg.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
    const content = { width: width || 1, height: height || 1 };
    const same = content.width === this.#content.width && content.height === this.#content.height;
    this.#svg?.remove();
    this.#svg = svg;
    this.#subject = subject;
    this.#content = content;
    const { width: wide, height: high } = this.#room;
    this.#room = { width: Math.max(content.width, wide), height: Math.max(content.height, high) };
    svg.setAttribute("width", String(content.width));
    svg.setAttribute("height", String(content.height));
    this.element.prepend(svg);
    this.#measureText();
    return same;
  }

  #measureText(): void {
    if (this.#svg) this.#readable = readableZoom(smallestText(this.#svg));
    this.#listener(this.#room, this.#readable);
  }

  /** Calls the listener now and later with the size of the picture, and with the zoom from which on
      its words can be read. */
  tell(listener: (content: Size, readable: number) => void): void {
    this.#listener = listener;
    listener(this.#room, this.#readable);
  }

  zoom(factor: number, point?: { x: number; y: number }): void {
    const { width, height } = this.#size();
    this.#touched = true;
    this.#apply(zoomAt(this.#camera, point ?? { x: width / 2, y: height / 2 }, factor));
  }

  /** Shows the whole picture; where it is shown whole already, the view of the step again. */
  fit(): void {
    const k = fitZoom(this.#content, this.#size(), this.#readable);
    if (this.#touched && Math.abs(k - this.#camera.k) < 1e-6) {
      this.#home();
      return;
    }
    this.#apply({ x: 0, y: 0, k });
    this.#touched = k < this.#readable;
  }

  actualSize(): void {
    this.zoom(1 / this.#camera.k);
  }

  pan(direction: Direction): void {
    const [dx, dy] = PAN[direction];
    this.#touched = true;
    this.#apply({ ...this.#camera, x: this.#camera.x + dx, y: this.#camera.y + dy });
  }

  /** From now on the window goes only where it must. */
  keep(): void {
    this.#touched = true;
  }

  /** Brings a point of the picture to the middle of the window. */
  centre(x: number, y: number): void {
    const { width, height } = this.#size();
    const { k } = this.#camera;
    this.#touched = true;
    this.#apply({ k, x: width / 2 - k * x, y: height / 2 - k * y });
  }

  reveal(box: Box): void {
    this.#apply(reveal(this.#camera, box, this.#size()));
  }

  /** Brings a box into the window, large enough to be read. */
  approach(box: Box): void {
    this.#touched = true;
    if (this.#camera.k >= this.#least) this.reveal(box);
    else this.#apply(centre(this.#readable, box, this.#size()));
  }

  /** Brings a box that is not in the window to its middle. */
  follow(box: Box): void {
    this.#apply(follow(this.#camera, box, this.#size()));
  }

  /** The view of the step; where a person has moved the window, only so far that it is in view. */
  followSubject(): void {
    const now = performance.now();
    // Steps that come faster than it glides are shown at once.
    const glides = now - this.#stepped > GLIDE_MS;
    this.#stepped = now;
    const shapes = this.#subject();
    if (!this.#touched) this.#home(shapes);
    else if (shapes) this.#apply(follow(this.#camera, this.boxOf(shapes.card), this.#size()));
    this.element.classList.toggle("is-gliding", glides);
  }

  /** The part of the picture that is in the window, and its zoom. */
  get window(): { readonly box: Box; readonly k: number } {
    const { x, y, k } = this.#camera;
    const { width, height } = this.room;
    return { box: { x: -x / k, y: -y / k, width: width / k, height: height / k }, k };
  }

  /** How large the window is; nothing while it is not in a page. */
  get room(): Size {
    return this.element.clientWidth ? this.#size() : { width: 0, height: 0 };
  }

  /** Says how much at the right and at the bottom is covered. */
  cover(covered: Size): void {
    const { width, height } = this.#covered;
    if (width === covered.width && height === covered.height) return;
    this.#covered = covered;
    this.#resized();
  }

  /** The box of an element, in units of the picture. */
  boxOf(target: Element): Box {
    const origin = this.#svg?.getBoundingClientRect();
    const box = frameOf(target);
    // While the window glides, the scale on the screen is not yet that of the camera.
    const k = (origin?.width ?? 0) / this.#content.width || this.#camera.k;
    // Without the noise of the division: the same box wherever the window looks.
    const whole = (length: number) => Math.round((length / k) * GRID) / GRID;
    return {
      x: whole(box.x - (origin?.left ?? 0)),
      y: whole(box.y - (origin?.top ?? 0)),
      width: whole(box.width),
      height: whole(box.height),
    };
  }

  #home(shapes = this.#subject()): void {
    const subject = shapes && {
      card: this.boxOf(shapes.card),
      around: shapes.around.map((shape) => this.boxOf(shape)),
    };
    this.#touched = false;
    const size = this.#size();
    const [content, readable, least] = [this.#content, this.#readable, this.#least];
    const isSmall = least < readable && fitZoom(content, size, least) < least;
    const all = isSmall && this.cards ? viewOfAll(content, size, least, this.cards) : undefined;
    if (all) this.#hold(all);
    else if (!isSmall) this.#apply(viewOf(content, size, least, subject));
    else {
      // Of what is not seen at once the text is readable; a box wider than the window is seen whole, and
      // needs no margin.
      const { width, height } = subject?.card ?? { width: 0, height: 0 };
      const room = { width: size.width + 2 * AROUND, height: size.height + 2 * AROUND };
      const whole = fitZoom({ width, height }, room, readable);
      const k = Math.max(least, Math.min(readable, whole));
      this.#apply(viewOf(content, size, k, subject, k));
    }
  }

  /** The least zoom that is chosen for a person. */
  get #least(): number {
    return Math.min(this.#whole, this.#readable);
  }

  #size(): Size {
    const { clientWidth, clientHeight } = this.element;
    const { width, height } = this.#covered;
    return { width: clientWidth - width || 1, height: clientHeight - height || 1 };
  }

  #resized(): void {
    if (!this.element.clientWidth) return;
    this.onShow();
    this.#measureText();
    if (this.#touched) this.#apply(this.#camera);
    else this.#home();
    this.onView();
  }

  /** Moves the window where it is not clamped, and stays. */
  #hold(camera: Camera): void {
    this.#held = camera;
    this.#move(camera);
  }

  #apply(camera: Camera): void {
    const { x, y, k } = this.#held ?? { x: 0, y: 0, k: 0 };
    const isHeld = camera.x === x && camera.y === y && camera.k === k;
    if (!isHeld) this.#held = undefined;
    this.#move(isHeld ? camera : clamp(camera, this.#content, this.#size()));
  }

  #move(camera: Camera): void {
    const size = this.#size();
    const before = this.#camera.k;
    this.#camera = camera;
    const { k } = this.#camera;
    const [x, y] = [Math.round(this.#camera.x), Math.round(this.#camera.y)];
    this.element.classList.remove("is-gliding");
    if (this.#svg) this.#svg.style.transform = `translate(${x}px, ${y}px) scale(${k})`;
    const movable = overflows(this.#camera, this.#content, size);
    this.element.classList.toggle("is-movable", movable);
    this.onZoom(k);
    this.onMove();
    if (k !== before) this.onView();
  }

  #wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return;
    claim(event);
    const frame = this.element.getBoundingClientRect();
    const pixels = event.deltaMode === 0 ? event.deltaY : event.deltaY * 30;
    const point = { x: event.clientX - frame.left, y: event.clientY - frame.top };
    this.zoom(Math.exp(-pixels * WHEEL_SPEED), point);
  }

  /** Drags with a mouse or a pen: one finger scrolls the page. */
  #drag(down: PointerEvent): void {
    if (down.button !== 0 || !down.isPrimary || down.pointerType === "touch") return;
    const start = this.#camera;
    const gesture = new AbortController();
    const options = { signal: gesture.signal };
    let moved = false;
    const move = (event: PointerEvent) => {
      const dx = event.clientX - down.clientX;
      const dy = event.clientY - down.clientY;
      if (!moved && Math.hypot(dx, dy) < DRAG_THRESHOLD) return;
      if (!moved) this.element.setPointerCapture(event.pointerId);
      moved = this.#touched = true;
      this.element.classList.add("is-dragging");
      this.#apply({ k: start.k, x: start.x + dx, y: start.y + dy });
    };
    const end = () => {
      gesture.abort();
      this.element.classList.remove("is-dragging");
      if (!moved) return;
      // The click that ends a drag selects nothing.
      const swallow = (event: Event) => event.stopPropagation();
      this.element.addEventListener("click", swallow, { capture: true, once: true });
      setTimeout(() => this.element.removeEventListener("click", swallow, { capture: true }));
    };
    this.element.addEventListener("pointermove", move, options);
    this.element.addEventListener("pointerup", end, options);
    this.element.addEventListener("pointercancel", end, options);
  }

  #makePad(tooltip: PanelContext["tooltip"]): HTMLElement {
    const pad = html("div", {
      class: "gradviz-pad gradviz-group",
      role: "group",
      "aria-label": "Move the picture",
    });
    const buttons = new Map<Direction, HTMLButtonElement>();
    for (const direction of Object.keys(PAN) as Direction[]) {
      const label = `Move the window ${direction}`;
      const run = () => this.pan(direction);
      const button = makeButton({ tooltip }, { label, icon: direction, run });
      button.classList.add(`is-${direction}`);
      button.tabIndex = buttons.size ? -1 : 0;
      buttons.set(direction, button);
      pad.append(button);
    }
    pad.addEventListener("keydown", (event) => {
      const direction = ARROWS[event.key];
      if (!direction) return;
      claim(event);
      this.pan(direction);
      for (const [name, button] of buttons) button.tabIndex = name === direction ? 0 : -1;
      buttons.get(direction)?.focus();
    });
    return pad;
  }
}

/** Where an element is in the browser's window, without the ring that a highlighted card has. */
function frameOf(target: Element): Box {
  const parts = [...target.children].filter((part) => !part.matches(".gradviz-ring"));
  const boxes = (target.querySelector(":scope > .gradviz-ring") ? parts : [target])
    .map((part) => part.getBoundingClientRect())
    .filter(({ width, height }) => width + height > 0);
  if (!boxes.length) return { x: 0, y: 0, width: 0, height: 0 };
  const x = Math.min(...boxes.map(({ left }) => left));
  const y = Math.min(...boxes.map(({ top }) => top));
  const width = Math.max(...boxes.map(({ right }) => right)) - x;
  return { x, y, width, height: Math.max(...boxes.map(({ bottom }) => bottom)) - y };
}

/** The size of the smallest text of a picture, in its units; 0 while it cannot be measured. */
function smallestText(svg: SVGSVGElement): number {
  const probe = document.createElementNS(SVG, "text");
  probe.setAttribute("class", "gv-small");
  svg.append(probe);
  const size = Number.parseFloat(getComputedStyle(probe).fontSize);
  probe.remove();
  return svg.isConnected && size > 0 ? size : 0;
}
