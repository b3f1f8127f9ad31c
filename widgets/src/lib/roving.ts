// One tab stop for several buttons: the roving tabindex of the ARIA Authoring Practices.
import { claim } from "./dom";

/** Makes the buttons of a bar one tab stop. Hidden ones are passed over. Gives back what makes a button
 * the stop. In a `list`, whose ends are no neighbours, Home and End are left to others. */
export function roveTabindex(
  bar: HTMLElement,
  keys: readonly [string, string] = ["ArrowLeft", "ArrowRight"],
  isList = false,
): (to: HTMLElement | undefined) => void {
  const stops = () => [...bar.querySelectorAll<HTMLElement>("button")].filter((b) => !b.hidden);
  const setStop = (to: HTMLElement | undefined) => {
    for (const stop of stops()) stop.tabIndex = stop === to ? 0 : -1;
  };
  bar.addEventListener("focusin", (event) => setStop(event.target as HTMLElement));
  bar.addEventListener("keydown", (event) => {
    const all = stops();
    const at = all.indexOf(event.target as HTMLElement);
    const last = all.length - 1;
    const ends: Record<string, number> = isList ? {} : { Home: 0, End: last };
    const to = { ...ends, [keys[0]]: at - 1, [keys[1]]: at + 1 }[event.key];
    if (at < 0 || to === undefined) return;
    claim(event);
    all[isList ? Math.max(0, Math.min(to, last)) : (to + all.length) % all.length]?.focus();
  });
  setStop(stops()[0]);
  return setStop;
}
