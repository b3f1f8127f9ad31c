// Two fingers on the picture: zoom and move. One finger is the page's, which it scrolls.

export interface Pinch {
  /** The middle between the fingers before, and now. */
  readonly from: Readonly<{ x: number; y: number }>;
  readonly to: Readonly<{ x: number; y: number }>;
  /** How much further apart the fingers are than before. */
  readonly factor: number;
}

interface Fingers {
  readonly x: number;
  readonly y: number;
  readonly apart: number;
}

/** Calls `moved` with positions within the element for every movement of two fingers on it. */
export function listenForPinch(element: HTMLElement, moved: (pinch: Pinch) => void): void {
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
    if (now && before && before.apart > 0) {
      moved({ from: before, to: now, factor: now.apart / before.apart });
    }
    before = now;
  };
  for (const name of ["touchstart", "touchmove", "touchend", "touchcancel"] as const) {
    element.addEventListener(name, handle, { passive: false });
  }
}
