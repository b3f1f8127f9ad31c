// The whole screen for the widget; where the host forbids it, its whole window. To present, it has code,
// graph and caption alone, in large type.
import type { PanelContext } from "../panel_context";

export interface FullScreen {
  toggle(): void;
  /** Begins to present, or ends it. */
  present(): void;
  /** Leaves it; says whether there was something to leave. */
  leave(): boolean;
  /** Called after every change. */
  onChange: (on: boolean) => void;
}

export function makeFullScreen(root: HTMLElement, { signal, announce }: PanelContext): FullScreen {
  const fills = () => root.classList.contains("is-filling");
  const isOn = () => fills() || document.fullscreenElement === root;
  const changed = () => {
    root.classList.toggle("is-full", isOn());
    if (!isOn()) root.classList.remove("is-presented");
    full.onChange(isOn());
  };
  /** In the top layer nothing around the widget can clip or move it. */
  const fill = (on: boolean) => {
    root.classList.toggle("is-filling", on);
    if (on) root.setAttribute("popover", "manual");
    if (root.isConnected) on ? root.showPopover?.() : root.hidePopover?.();
    if (!on) root.removeAttribute("popover");
    changed();
  };
  const enter = async (words = "full screen") => {
    try {
      if (!document.fullscreenEnabled) throw new Error("not allowed");
      await root.requestFullscreen();
    } catch {
      fill(true);
    }
    announce(`${words}; Escape leaves it`);
  };
  const leave = () => {
    const was = isOn();
    if (fills()) fill(false);
    else if (was) void document.exitFullscreen();
    return was;
  };
  const full: FullScreen = {
    toggle: () => (isOn() ? void leave() : void enter()),
    present: () => {
      if (root.classList.contains("is-presented")) return void leave();
      root.classList.add("is-presented");
      if (!isOn()) void enter("code, graph and caption in large type");
    },
    leave,
    onChange: () => {},
  };
  document.addEventListener("fullscreenchange", changed, { signal });
  signal.addEventListener("abort", () => fills() && fill(false));
  return full;
}
