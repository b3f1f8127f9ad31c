// While only some of the steps are here: how many, and whether the others still can come.

import { html } from "../lib/dom";
import type { PanelContext } from "../panel_context";

const WHY = "The rest follows when the cell has ended.";
/** Milliseconds after which the kernel is asked, at first and at most: each time after twice as long. */
const [SOON, LATE] = [2000, 30_000];
/** The class of a view whose kernel has ended, as ipywidgets gives it. */
const GONE = ".jupyter-widgets-disconnected";

export function makeRest({ store, signal, tooltip, announce }: PanelContext): HTMLElement {
  const element = html("small", { class: "gradviz-rest" });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const part = () => store.get("timeline")?.recording;
  const say = (words: string, why: string) => {
    element.replaceChildren(words, html("i", { class: "gradviz-hidden" }, why && `. ${why}`));
    element.classList.toggle("is-gone", !why);
  };
  const end = () => {
    clearTimeout(timer);
    const { of, views } = part() ?? {};
    if (!of || !views) return;
    const missing = of.steps - views.length;
    const other = missing === 1 ? "step" : `${missing} steps`;
    const words = `The kernel went before the other ${other} came: run the cell again.`;
    say(words, "");
    announce(words);
  };
  const ask = (pause: number) => {
    timer = setTimeout(() => {
      if (element.closest(GONE) || !store.kernel.askForRest()) end();
      else ask(Math.min(2 * pause, LATE));
    }, pause);
  };
  store.watch(["timeline"], () => {
    clearTimeout(timer);
    const { of, views } = part() ?? {};
    element.hidden = !of;
    if (!of || !views) return;
    say(`${views.length} of ${of.steps} steps`, WHY);
    ask(SOON);
  });
  store.kernel.whenGone(end);
  signal.addEventListener("abort", () => clearTimeout(timer));
  tooltip.attach(element, () => (element.classList.contains("is-gone") ? "" : WHY));
  return element;
}
