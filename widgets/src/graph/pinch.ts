// Two fingers on the picture: zoom and move. One finger is the page's, which it scrolls.

/** Two fingers: the middle between them, within the element. */
interface Fingers {
  readonly x: number;
  readonly y: number;
  readonly apart: number;
}

/** Calls `moved` for every movement of two fingers: where they were, where they are, and how much
 * further apart. */
export function listenForPinch(
  element: HTMLElement,
  moved: (from: Fingers, to: Fingers, factor: number) => void,
): void {
  let before: Fingers | undefined;
  const read = ({ touches }: TouchEvent): Fingers | undefined => {
    const [one, other] = touches;
    if (!one || !other || touches.length !== 2) return undefined;
    const { left, top } = element.getBoundingClientRect();
    return {
      x: (one.clientX + other.clientX) / 2 - left,
      y: (one.clientY + other.clientY) / 2 - top,
      apart: Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY),
    };
  };
  const handle = (event: TouchEvent) => {
    const now = read(event);
    // The browser would scroll or zoom the page with both fingers.
    if (now && event.cancelable) event.preventDefault();
    if (now && before && before.apart > 0) moved(before, now, now.apart / before.apart);
    before = now;
  };
  for (const name of ["touchstart", "touchmove", "touchend", "touchcancel"] as const) {
    element.addEventListener(name, handle, { passive: false });
  }
}
