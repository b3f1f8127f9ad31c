// The toolbar: one tab stop, arrow keys inside (ARIA Authoring Practices, toolbar pattern).
import type { Context } from "./context";
import { focusable, html, type Icon, icon, take } from "./dom";
import type { Viewport } from "./viewport";

export interface Tool {
  readonly label: string;
  readonly icon?: Icon;
  /** Words beside the icon; they go away first when there is little room. */
  readonly words?: string;
  readonly hint?: string;
  run(button: HTMLButtonElement): void;
}

export function makeButton({ tooltip }: Context, tool: Tool): HTMLButtonElement {
  const props = { type: "button", class: "gradviz-button", "aria-label": tool.label };
  const button = focusable(html("button", props));
  if (tool.icon) button.append(icon(tool.icon));
  if (tool.words) button.append(html("span", { class: "gradviz-words" }, tool.words));
  button.addEventListener("click", () => tool.run(button));
  tooltip.attach(button, () => tool.hint ?? tool.label);
  return button;
}

/** Makes the children of a bar one tab stop. Hidden buttons are passed over. */
export function rove(
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
    take(event);
    all[to]?.focus();
  });
  setStop(stops()[0]);
}

export function makeToolbar(
  context: Context,
  viewport: Viewport,
  extra: readonly Node[],
): HTMLElement {
  const { store, prefix, announce } = context;
  const button = (tool: Tool) => makeButton(context, tool);
  const percent = button({
    label: "Zoom to 100 %",
    hint: "Zoom to 100 % (1)",
    run: () => viewport.actualSize(),
  });
  percent.classList.add("gradviz-percent");
  viewport.onZoom = (k) => {
    const shown = `${Math.round(k * 100)} %`;
    percent.textContent = shown;
    percent.setAttribute("aria-label", `${shown}, zoom to 100 %`);
  };
  const engine = button({
    label: "Engine arrows",
    words: "engine arrows",
    icon: "engine",
    hint: "Arrows as the engine follows them: next_functions, from the output to the leaves",
    run: () => {
      store.set("engine_arrows", !store.get("engine_arrows"));
      announce(
        store.get("engine_arrows") ? "arrows follow next_functions" : "arrows follow the data",
      );
    },
  });
  store.watch(["engine_arrows"], () => {
    engine.setAttribute("aria-pressed", String(store.get("engine_arrows")));
  });
  const zoom = html(
    "div",
    { class: "gradviz-group", role: "group", "aria-label": "Zoom" },
    button({
      label: "Zoom out",
      icon: "minus",
      hint: "Zoom out (−)",
      run: () => viewport.zoom(1 / 1.25),
    }),
    percent,
    button({ label: "Zoom in", icon: "plus", hint: "Zoom in (+)", run: () => viewport.zoom(1.25) }),
    button({
      label: "Fit",
      icon: "fit",
      hint: "Show the whole graph (0)",
      run: () => viewport.fit(),
    }),
  );
  const props = {
    class: "gradviz-toolbar",
    role: "toolbar",
    "aria-label": "Graph tools",
    id: `${prefix}-tools`,
  };
  const bar = html("div", props, zoom, engine, ...extra);
  rove(bar);
  return bar;
}
