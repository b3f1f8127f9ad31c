// Playing: off until asked for, one step after another, never where the system asks for no motion.
import type { Context } from "./context";
import type { Steps } from "./steps";

const STILL = "(prefers-reduced-motion: reduce)";
export const WHY_NOT =
  "Playing is off: this system asks for reduced motion. The arrow keys step instead.";

export interface Playing {
  /** Whether the system allows it. */
  allowed(): boolean;
  toggle(): void;
}

export function makePlaying({ store, signal, announce }: Context, steps: Steps): Playing {
  const still = window.matchMedia?.(STILL);
  const allowed = () => !still?.matches;
  let timer: ReturnType<typeof setTimeout> | undefined;

  store.watch(["playing", "at", "speed", "detail", "timeline"], () => {
    clearTimeout(timer);
    if (!store.get("playing")) return;
    if (!allowed() || steps.place >= steps.last) store.set("playing", false);
    else timer = setTimeout(() => steps.go(steps.place + 1), 1000 / store.get("speed"));
  });
  signal.addEventListener("abort", () => clearTimeout(timer));
  still?.addEventListener?.("change", () => store.set("playing", false), { signal });
  const leave = () => document.hidden && store.set("playing", false);
  document.addEventListener("visibilitychange", leave, { signal });

  const toggle = () => {
    if (!allowed()) return announce(WHY_NOT);
    if (!store.get("playing") && steps.place >= steps.last) steps.go(0);
    store.set("playing", !store.get("playing"));
  };
  return { allowed, toggle };
}
