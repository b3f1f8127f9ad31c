// The window onto the picture: drag, zoom, fit, pan buttons.

import { claim, focusable, html } from "../lib/dom";
import { icon } from "../lib/icons";
import type { PanelContext } from "../panel_context";
import {
  type Box,
  type Camera,
  clamp,
  firstZoom,
  fitZoom,
  follow,
  overflows,
  READABLE,
  reveal,
  zoomAt,
} from "./camera";

const DRAG_THRESHOLD = 4;
const PAN_STEP = 80;
const WHEEL_SPEED = 0.0025;

type Direction = "up" | "left" | "right" | "down";
const PAN: Record<Direction, readonly [number, number]> = {
  left: [PAN_STEP, 0],
  up: [0, PAN_STEP],
  down: [0, -PAN_STEP],
  right: [-PAN_STEP, 0],
};
const ARROWS: Record<string, Direction> = {
  ArrowUp: "up",
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowDown: "down",
};

export class Viewport {
  readonly element = html("div", { class: "gradviz-viewport" });
  /** Called after every change of the zoom. */
  onZoom: (k: number) => void = () => {};
  /** Called when the window has a size, so that it can be measured. */
  onShow: () => void = () => {};
  #camera: Camera = { x: 0, y: 0, k: 1 };
  #content = { width: 1, height: 1 };
  #svg: SVGSVGElement | undefined;
  #home: () => Element | undefined = () => undefined;
  #touched = false;
  readonly #pad: HTMLElement;

  constructor({ signal, tooltip }: PanelContext) {
    this.#pad = this.#makePad(tooltip);
    this.element.append(this.#pad);
    this.element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.element.addEventListener("pointerdown", (event) => this.#drag(event));
    if ("ResizeObserver" in globalThis) {
      const observer = new ResizeObserver(() => this.#resized());
      observer.observe(this.element);
      signal.addEventListener("abort", () => observer.disconnect());
    }
  }

  /** Shows a picture; the first view of a large one begins at `home`. */
  show(svg: SVGSVGElement, home: () => Element | undefined): void {
    const [, , width, height] = (svg.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
    const content = { width: width || 1, height: height || 1 };
    const same = content.width === this.#content.width && content.height === this.#content.height;
    this.#svg?.remove();
    this.#svg = svg;
    this.#home = home;
    this.#content = content;
    svg.setAttribute("width", String(content.width));
    svg.setAttribute("height", String(content.height));
    const frame = this.element.parentElement ?? this.element;
    frame.style.setProperty("--picture-width", String(content.width));
    frame.style.setProperty("--picture-height", String(content.height));
    this.element.prepend(svg);
    if (same && this.#touched) this.#apply(this.#camera);
    else this.reset();
  }

  zoom(factor: number, point?: { x: number; y: number }): void {
    const { width, height } = this.#size();
    this.#touched = true;
    this.#apply(zoomAt(this.#camera, point ?? { x: width / 2, y: height / 2 }, factor));
  }

  fit(): void {
    this.#touched = false;
    this.#apply({ x: 0, y: 0, k: fitZoom(this.#content, this.#size()) });
  }

  actualSize(): void {
    this.zoom(1 / this.#camera.k);
  }

  pan(direction: Direction): void {
    const [dx, dy] = PAN[direction];
    this.#touched = true;
    this.#apply({ ...this.#camera, x: this.#camera.x + dx, y: this.#camera.y + dy });
  }

  /** All of a small picture; a readable part of a large one, from the root on. */
  reset(): void {
    this.fit();
    const home = this.#camera.k < READABLE && this.#home();
    if (!home) return;
    const box = this.boxOf(home);
    this.zoom(firstZoom(this.#content, this.#size()) / this.#camera.k);
    this.reveal(box);
    this.#touched = false;
  }

  reveal(box: Box): void {
    this.#apply(reveal(this.#camera, box, this.#size()));
  }

  follow(box: Box): void {
    this.#apply(follow(this.#camera, box, this.#size()));
  }

  /** The box of an element, in units of the picture. */
  boxOf(target: Element): Box {
    const origin = this.#svg?.getBoundingClientRect() ?? { left: 0, top: 0 };
    const box = target.getBoundingClientRect();
    const { k } = this.#camera;
    return {
      x: (box.left - origin.left) / k,
      y: (box.top - origin.top) / k,
      width: box.width / k,
      height: box.height / k,
    };
  }

  #size() {
    return { width: this.element.clientWidth || 1, height: this.element.clientHeight || 1 };
  }

  #resized(): void {
    if (!this.element.clientWidth) return;
    this.onShow();
    if (this.#touched) this.#apply(this.#camera);
    else this.reset();
  }

  #apply(camera: Camera): void {
    const size = this.#size();
    this.#camera = clamp(camera, this.#content, size);
    const { x, y, k } = this.#camera;
    if (this.#svg) this.#svg.style.transform = `translate(${x}px, ${y}px) scale(${k})`;
    const movable = overflows(this.#camera, this.#content, size);
    this.element.classList.toggle("is-movable", movable);
    this.#pad.hidden = !movable;
    this.onZoom(k);
  }

  #wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return;
    claim(event);
    const frame = this.element.getBoundingClientRect();
    const pixels = event.deltaMode === 0 ? event.deltaY : event.deltaY * 30;
    const point = { x: event.clientX - frame.left, y: event.clientY - frame.top };
    this.zoom(Math.exp(-pixels * WHEEL_SPEED), point);
  }

  #drag(down: PointerEvent): void {
    const target = down.target as Element;
    if (down.button !== 0 || !down.isPrimary || target.closest(".gradviz-pad")) return;
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
      class: "gradviz-pad",
      role: "group",
      "aria-label": "Move the picture",
    });
    const hint = html("span", { "aria-hidden": "true" }, "drag to see the rest");
    pad.append(hint);
    const buttons = new Map<Direction, HTMLButtonElement>();
    for (const direction of Object.keys(PAN) as Direction[]) {
      const label = `Move the window ${direction}`;
      const props = {
        type: "button",
        class: `gradviz-button is-${direction}`,
        "aria-label": label,
      };
      const button = focusable(html("button", props, icon(direction)), buttons.size ? -1 : 0);
      button.addEventListener("click", () => this.pan(direction));
      tooltip.attach(button, () => label);
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
