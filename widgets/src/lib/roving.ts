// One tab stop for several buttons: the roving tabindex of the ARIA Authoring Practices.
import { claim } from "./dom";

/** Makes the children of a bar one tab stop. Hidden buttons are passed over. */
export function roveTabindex(
  bar: HTMLElement,
  keys: readonly [string, string] = ["ArrowLeft", "ArrowRight"],
) {
  const stops = () => [...bar.querySelectorAll<HTMLElement>("button")].filter((b) => !b.hidden);
  const setStop = (to: HTMLElement | undefined) => {
    for (const stop of stops()) stop.tabIndex = stop === to ? 0 : -1;
  };
  bar.addEventListener("focusin", (event) => setStop(event.target as HTMLElement));
  bar.addEventListener("keydown", (event) => {
    const all = stops();
    const at = all.indexOf(event.target as HTMLElement);
    const moves: Record<string, number> = {
      [keys[0]]: (at - 1 + all.length) % all.length,
      [keys[1]]: (at + 1) % all.length,
      Home: 0,
      End: all.length - 1,
    };
    const to = moves[event.key];
    if (at < 0 || to === undefined) return;
    claim(event);
    all[to]?.focus();
  });
  setStop(stops()[0]);
}
