// A saved page, which has its widget alone: the address names the step and what is selected, and the
// keys of the steps act at once.

import { claim } from "../lib/dom";
import type { PanelContext } from "../panel_context";
import type { StepCursor } from "../player/step_cursor";
import { stepKeys } from "../player/step_keys";

/** Browsers refuse to change the address too often. */
const PAUSE = 200;

/** "#step=7&sel=n3"; empty for what is not given. */
export function addressOf(step: string, selected: string): string {
  const parts = new URLSearchParams();
  if (step) parts.set("step", step);
  if (selected) parts.set("sel", selected);
  return parts.size ? `#${parts}` : "";
}

export function readAddress(hash: string): { readonly step: string; readonly selected: string } {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  return { step: parts.get("step") ?? "", selected: parts.get("sel") ?? "" };
}

/** Makes a saved page answer to its address and to arrow keys; does nothing elsewhere. */
export function followPage(root: HTMLElement, context: PanelContext, cursor: StepCursor): void {
  if (!context.store.get("page")) return;
  followAddress(context, cursor);
  followKeys(root, context, cursor);
}

/** The address of what is shown now. */
export function linkHere({ store }: PanelContext, cursor: StepCursor): string {
  const step = store.get("timeline") ? cursor.number : "";
  return `${location.href.split("#")[0]}${addressOf(step, store.get("selected"))}`;
}

function followAddress(context: PanelContext, cursor: StepCursor): void {
  const { store, signal, announce } = context;
  const read = () => {
    const { step, selected } = readAddress(location.hash);
    if (step && !cursor.find(step)) announce(`there is no step ${step}`);
    const known = store.get("content").items.some(({ id }) => id === selected);
    if (known || step) store.set("selected", known ? selected : "");
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const write = () => history.replaceState(history.state, "", linkHere(context, cursor));
  read();
  addEventListener("hashchange", read, { signal });
  let isFirst = true;
  store.watch(["at", "selected"], () => {
    clearTimeout(timer);
    if (!isFirst) timer = setTimeout(write, PAUSE);
  });
  isFirst = false;
  signal.addEventListener("abort", () => clearTimeout(timer));
}

/** The keys of the steps act while nothing has the focus, if they can mean one player only. */
function followKeys(root: HTMLElement, context: PanelContext, cursor: StepCursor): void {
  const { store, signal } = context;
  const { anywhere, stepping } = stepKeys(context, cursor);
  const listen = (event: KeyboardEvent) => {
    const act = anywhere[event.key] ?? stepping[event.key];
    const focused = document.activeElement;
    if (!act || (focused && focused !== document.body)) return;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    // On some keyboards Shift is part of these signs; with the others it means something else.
    if (event.shiftKey && event.key.length > 1) return;
    const players = [...document.querySelectorAll(".gradviz-root.has-steps")];
    if (players.some((player) => player !== root) || !store.get("timeline")) return;
    claim(event);
    act();
  };
  document.addEventListener("keydown", listen, { signal });
}
