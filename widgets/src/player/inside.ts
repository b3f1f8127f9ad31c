// Opens the sub-steps of a step, parts of a node or lines of a called function, and puts them away.

import { makeButton } from "../lib/button";
import { html } from "../lib/dom";
import type { PanelContext } from "../panel_context";
import type { StepCursor } from "./step_cursor";

export function makeInside(context: PanelContext, cursor: StepCursor): HTMLElement {
  const { store } = context;
  const open = makeButton(context, {
    label: "Step inside",
    icon: "right",
    hint: "Go to the first sub-step inside this step (>)",
    run: () => moveInside(context, cursor),
  });
  const close = makeButton(context, {
    label: "Step out",
    icon: "up",
    hint: "Go to the step that this is inside of, and put its sub-steps away (<)",
    run: () => moveOut(context, cursor),
  });
  const count = html("span");
  open.append(count);
  close.append("close");
  const element = html("span", { class: "gradviz-inside" }, open, close);
  store.watch(["at", "visible", "timeline"], () => {
    const { hidden } = cursor;
    const focused = [open, close].find((button) => button === document.activeElement);
    count.textContent = `${hidden} ${hidden === 1 ? "step" : "steps"} inside`;
    open.setAttribute("aria-label", count.textContent);
    open.hidden = hidden === 0;
    close.hidden = !cursor.isInside;
    if (!focused?.hidden) return;
    const heir = [open, close].find((button) => !button.hidden);
    (heir ?? element.closest<HTMLElement>(".gradviz-caption"))?.focus();
  });
  return element;
}

/** Goes to the first sub-step of the step that is shown, else of the next one. */
export function moveInside({ announce }: PanelContext, cursor: StepCursor): void {
  if (!cursor.stepInto()) announce("nothing is inside this step or the next");
}

/** Goes to the step that the one shown is inside of. */
export function moveOut({ announce }: PanelContext, cursor: StepCursor): void {
  if (!cursor.stepOut()) announce("this step is inside no other that was opened");
}
