// Dragging with a pointer that an element has captured.

/** Calls `move` while a pointer that went down on an element moves, and `end` when it is let go. */
export function drag(
  element: HTMLElement,
  down: PointerEvent,
  move: (event: PointerEvent) => void,
  end: () => void = () => {},
): void {
  const gesture = new AbortController();
  const { signal } = gesture;
  signal.addEventListener("abort", end);
  element.setPointerCapture(down.pointerId);
  element.addEventListener("pointermove", move, { signal });
  for (const last of ["pointerup", "pointercancel"]) {
    element.addEventListener(last, () => gesture.abort(), { signal });
  }
}
