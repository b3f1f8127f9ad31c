// Playing: one step after another, off at first and where the system asks for reduced motion.
import type { PanelContext } from "../panel_context";
import type { StepCursor } from "./step_cursor";

const STILL = "(prefers-reduced-motion: reduce)";
export const WHY_NOT =
  "Playing is off: this system asks for reduced motion. Use the arrow keys to step.";

export interface Playback {
  /** Whether the system allows it. */
  allowed(): boolean;
  toggle(): void;
}

export function makePlayback(
  { store, signal, announce }: PanelContext,
  cursor: StepCursor,
): Playback {
  const still = window.matchMedia?.(STILL);
  const allowed = () => !still?.matches;
  let timer: ReturnType<typeof setTimeout> | undefined;

  store.watch(["playing", "at", "speed", "visible", "timeline"], () => {
    clearTimeout(timer);
    if (!store.get("playing")) return;
    if (!allowed() || cursor.place >= cursor.last) store.set("playing", false);
    else timer = setTimeout(() => cursor.show(cursor.place + 1), 1000 / store.get("speed"));
  });
  signal.addEventListener("abort", () => clearTimeout(timer));
  still?.addEventListener?.("change", () => store.set("playing", false), { signal });
  const leave = () => document.hidden && store.set("playing", false);
  document.addEventListener("visibilitychange", leave, { signal });

  const toggle = () => {
    if (!allowed()) return announce(WHY_NOT);
    if (!store.get("playing") && cursor.place >= cursor.last) cursor.show(0);
    store.set("playing", !store.get("playing"));
  };
  return { allowed, toggle };
}
