// The controls of a recording in one line: back, forward, to the error or its culprit, play, the
// timeline, the current step in words; the rarer ones behind a button.

import { captionText } from "../documents/recording";
import { makeButton, type Tool } from "../lib/button";
import { focusable, html } from "../lib/dom";
import { icon } from "../lib/icons";
import { makePopover } from "../lib/popover";
import { roveTabindex } from "../lib/roving";
import type { PanelContext } from "../panel_context";
import { type Playback, WHY_NOT } from "./playback";
import { makeRest } from "./rest";
import { makeSlider } from "./slider";
import type { StepCursor } from "./step_cursor";

const SPEEDS = [0.5, 1, 2, 4];

export function makeControls(
  context: PanelContext,
  cursor: StepCursor,
  playback: Playback,
): HTMLElement {
  const { store, announce } = context;
  const where = html("p", { class: "gradviz-where" });
  const still = makeRest(context);
  const more = makePopover(
    context,
    "More about steps",
    { label: "More about steps", icon: "more", hint: "First and last step, speed, sub-steps" },
    ...makeEndButtons(context, cursor),
    makeSpeed(context),
    makeDetailButton(context, cursor),
  );
  const props = { class: "gradviz-player", role: "group", "aria-label": "Steps" };
  const element = html(
    "div",
    props,
    makeStepButtons(context, cursor),
    makeErrorButton(context, cursor),
    makePlayButton(context, playback),
    makeSlider(context, cursor, playback),
    where,
    more.button,
    more.element,
  );

  let told: number | undefined;
  store.watch(["timeline"], () => {
    element.hidden = !store.get("timeline");
    told = undefined;
  });
  store.watch(["at", "visible", "timeline"], () => {
    const turns = cursor.turns ? [" ", html("span", {}, cursor.turns)] : [];
    const count = { class: "gradviz-at", title: cursor.turns };
    where.replaceChildren(html("span", count, html("strong", {}, cursor.count), ...turns), still);
  });
  store.watch(["at", "visible", "timeline", "playing"], () => {
    const timeline = store.get("timeline");
    const at = store.get("at");
    if (!timeline || at === told || store.get("playing")) return;
    const cards = [...cursor.cards, ...cursor.notes];
    const explained = cards.map(({ title, kind }) => `; explained: ${title}, ${kind}`);
    const words = captionText(cursor.run?.caption ?? timeline.view(at).caption);
    if (told !== undefined) announce(`${cursor.count}: ${words}${explained.join("")}`);
    told = at;
  });
  return element;
}

/** A button that goes to a place among the steps that are shown. */
interface Way extends Pick<Required<Tool>, "icon" | "label" | "hint"> {
  readonly goal: () => number;
}

/** One tab stop: left and right step as the buttons do; up and down move between the buttons. */
function makeStepButtons(context: PanelContext, cursor: StepCursor): HTMLElement {
  const [back, forward] = [-1, 1].map((by) => () => cursor.place + by) as [
    Way["goal"],
    Way["goal"],
  ];
  const buttons = makeWays(context, cursor, [
    { label: "Back", icon: "back", hint: "Back (←, or [ in the graph)", goal: back },
    { label: "Forward", icon: "forward", hint: "Forward (→, or ] in the graph)", goal: forward },
  ]);
  const props = { role: "toolbar", "aria-label": "Step", "aria-orientation": "vertical" };
  const bar = html("div", { class: "gradviz-group", ...props }, ...buttons);
  roveTabindex(bar, ["ArrowUp", "ArrowDown"], true)(buttons[1]);
  return bar;
}

/** Buttons that say when there is nothing further. */
function makeWays(
  context: PanelContext,
  cursor: StepCursor,
  ways: readonly Way[],
): HTMLButtonElement[] {
  const buttons = ways.map(({ goal, ...tool }) =>
    makeButton(context, { ...tool, words: tool.label, run: () => cursor.go(goal()) }),
  );
  context.store.watch(["at", "visible", "timeline"], () => {
    const { place, last } = cursor;
    // Not `disabled`, because a disabled button loses the focus at the last step.
    ways.forEach(({ goal }, i) => {
      const isHere = Math.max(0, Math.min(goal(), last)) === place;
      buttons[i]?.setAttribute("aria-disabled", String(isHere));
    });
  });
  return buttons;
}

function makeEndButtons(context: PanelContext, cursor: StepCursor): HTMLButtonElement[] {
  return makeWays(context, cursor, [
    { label: "First step", icon: "first", hint: "First step (Home)", goal: () => 0 },
    { label: "Last step", icon: "last", hint: "Last step (End)", goal: () => cursor.last },
  ]);
}

function makePlayButton(context: PanelContext, playback: Playback): HTMLElement {
  const { store, tooltip } = context;
  const hint = () =>
    playback.allowed() ? (store.get("playing") ? "Pause (Space)" : "Play (Space)") : WHY_NOT;
  const button = makeButton(context, {
    label: "Play",
    hint,
    run: () => {
      playback.toggle();
      if (!playback.allowed()) tooltip.show(button, WHY_NOT);
    },
  });
  store.watch(["playing"], () => {
    const on = store.get("playing");
    button.replaceChildren(icon(on ? "pause" : "play"));
    button.setAttribute("aria-label", on ? "Pause" : "Play");
    button.setAttribute("aria-disabled", String(!playback.allowed()));
  });
  return button;
}

function makeSpeed({ store }: PanelContext): HTMLElement {
  const speed = focusable(html("select", { class: "gradviz-speed", "aria-label": "Speed" }));
  for (const value of SPEEDS) {
    speed.append(html("option", { value }, `${value === 0.5 ? "½" : value} × `.trim()));
  }
  speed.addEventListener("change", () => store.set("speed", Number(speed.value)));
  store.watch(["speed"], () => {
    const now = store.get("speed");
    speed.value = String(SPEEDS.findLast((value) => value <= now) ?? SPEEDS[0]);
  });
  return html("label", { class: "gradviz-speed-row" }, "Speed ", speed);
}

function makeDetailButton(context: PanelContext, cursor: StepCursor): HTMLElement {
  const { store, announce } = context;
  const button = makeButton(context, {
    label: "Sub-steps",
    words: "Sub-steps",
    icon: "detail",
    hint: "Show all sub-steps: inside nodes (saved tensors read, hooks, accumulation, freeing) and calls",
    run: () => {
      const detail = !store.get("detail");
      store.set("playing", false);
      store.set("detail", detail);
      if (!detail) cursor.closeAll();
      announce(`sub-steps ${detail ? "shown" : "hidden"}: ${cursor.count}`);
    },
  });
  store.watch(["timeline", "detail"], () => {
    button.hidden = !store.get("timeline")?.hasSubSteps;
    button.setAttribute("aria-pressed", String(store.get("detail")));
  });
  return button;
}

function makeErrorButton(context: PanelContext, cursor: StepCursor): HTMLElement {
  const { store } = context;
  const words = html("span");
  /** From a step with an explanation to its culprit, from any other to the explanation. */
  const goal = () => {
    const { errorAt, faultAt } = store.get("timeline") ?? {};
    const culprit = cursor.cards.find(({ culprit_step }) => culprit_step !== null)?.culprit_step;
    if (culprit != null) return { step: culprit, label: "To the culprit" };
    const step = cursor.causedHere[0]?.step ?? faultAt;
    if (step === undefined || cursor.isAt(step)) return undefined;
    return { step, label: `Jump to ${step === errorAt ? "error" : "warning"}` };
  };
  const button = makeButton(context, {
    label: "Jump to error",
    icon: "error",
    hint: "From the step of the error to the line that caused it, and back",
    run: () => cursor.jump(goal()?.step ?? store.get("at")),
  });
  button.append(words);
  button.classList.add("gradviz-jump");
  store.watch(["timeline", "at", "visible"], () => {
    const { label } = goal() ?? {};
    const hadFocus = document.activeElement === button;
    button.hidden = label === undefined;
    words.textContent = label ?? "";
    button.setAttribute("aria-label", label ?? "");
    button.classList.toggle("is-primary", cursor.place >= cursor.last);
    if (hadFocus && button.hidden) button.closest<HTMLElement>(".gradviz-root")?.focus();
  });
  return button;
}
