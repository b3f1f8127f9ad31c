// One tooltip per view: on hover and on focus, stays while the pointer is on it, Escape closes it.
import { html } from "./dom";

const SHOW_AFTER_MS = 350;
const HIDE_AFTER_MS = 180;

export class Tooltip {
  readonly element = html("div", { class: "gradviz-tooltip", role: "tooltip", hidden: true });
  readonly #frame: HTMLElement;
  #target: Element | undefined;
  /** The key press that closed it last; other listeners ignore it. */
  closedBy: Event | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(frame: HTMLElement, signal: AbortSignal) {
    this.#frame = frame;
    this.element.addEventListener("pointerenter", () => clearTimeout(this.#timer));
    this.element.addEventListener("pointerleave", () => this.#later(HIDE_AFTER_MS, undefined, ""));
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || this.element.hidden) return;
      this.closedBy = event;
      this.hide();
    };
    // On the document, since a tooltip shown by the pointer must close wherever the focus is.
    document.addEventListener("keydown", onKey, { capture: true, signal });
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
  }

  /** Shows `text()` when the target is pointed at or focused by keyboard. */
  attach(target: Element, text: () => string): void {
    target.addEventListener("pointerenter", () => this.point(target, text()));
    target.addEventListener("pointerleave", () => this.point(undefined, ""));
    target.addEventListener("focus", () => {
      if (target.matches(":focus-visible")) this.show(target, text());
    });
    target.addEventListener("blur", () => this.hide());
    target.addEventListener("click", () => this.hide());
  }

  /** The pointer is over this now; nothing changes at once, so that it can travel to the tooltip. */
  point(target: Element | undefined, text: string): void {
    if (target && target === this.#target) clearTimeout(this.#timer);
    else this.#later(target ? SHOW_AFTER_MS : HIDE_AFTER_MS, target, text);
  }

  show(target: Element, text: string): void {
    clearTimeout(this.#timer);
    if (!text || !target.isConnected) {
      this.hide();
      return;
    }
    this.#target = target;
    this.element.textContent = text;
    this.element.hidden = false;
    this.#place(target);
  }

  hide(): void {
    clearTimeout(this.#timer);
    this.#target = undefined;
    this.element.hidden = true;
  }

  #later(delay: number, target: Element | undefined, text: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (target ? this.show(target, text) : this.hide()), delay);
  }

  #place(target: Element): void {
    const frame = this.#frame.getBoundingClientRect();
    const box = target.getBoundingClientRect();
    const own = this.element.getBoundingClientRect();
    const left = Math.max(4, Math.min(box.left - frame.left, frame.width - own.width - 4));
    const below = box.bottom - frame.top + 6;
    const above = box.top - frame.top - own.height - 6;
    const top = below + own.height > frame.height && above > 0 ? above : below;
    this.element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }
}
