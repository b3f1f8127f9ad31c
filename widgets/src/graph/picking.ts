// Picking nodes and tensors in the picture of a question: by a click, or by arrow keys and Enter.

import type { Item } from "../documents/graph";
import type { PictureChoice, QuestionPicture } from "../documents/question_picture";
import { claim, focusable, html, setProps } from "../lib/dom";
import type { Box } from "./camera";
import { flowOf, moveOf, nearestAlong, neighbour } from "./navigation";
import { type Asking, makePictureFrame, place, SAID, type Verdict } from "./question_picture";

/** Height of a box, in units of the picture, below which its word is inside of it. */
const LOW = 26;

export interface Picking {
  readonly element: HTMLElement;
  /** The ids that are picked, in the order of the picture. */
  picked(): readonly string[];
  pick(ids: readonly string[]): void;
  /** Whether something can be picked. */
  enable(on: boolean): void;
  /** Says of choices whether they are right. */
  mark(verdicts: ReadonlyMap<string, Verdict>): void;
}

export function makePicking(picture: QuestionPicture, context: Asking): Picking {
  const { choices, many, of } = picture;
  const { element: frame, layer } = makePictureFrame(picture, context.prefix, context.signal);
  const said = html("p", { class: "gradviz-asked-said", "aria-live": "polite" });
  const hint = html(
    "p",
    { class: "gradviz-hidden", id: `${context.prefix}-picking` },
    "Arrow keys follow the edges, Enter picks.",
  );
  layer.setAttribute("role", "group");
  layer.setAttribute("aria-label", context.label);
  layer.setAttribute("aria-describedby", hint.id);
  const buttons = new Map<string, HTMLButtonElement>();
  const picked = new Set<string>();
  let isOpen = true;
  let trail: string[] = [];

  const nouns = of === "tensors" ? ["tensor", "tensors"] : ["node", "nodes"];
  const show = () => {
    for (const [id, button] of buttons) button.setAttribute("aria-pressed", String(picked.has(id)));
    const names = choices.filter(({ id }) => picked.has(id)).map(({ label }) => label);
    const none = many
      ? `Pick all ${nouns[1]} that are asked for: click, or use arrow keys and Enter.`
      : `Pick one ${nouns[0]}: click it, or use arrow keys and Enter.`;
    said.textContent = names.length ? `Picked: ${names.join(", ")}` : none;
  };
  const toggle = (id: string) => {
    if (!isOpen) return;
    const was = picked.has(id);
    if (!many) picked.clear();
    if (was) picked.delete(id);
    else picked.add(id);
    show();
    context.onChange();
  };
  const setStop = (id: string) => {
    for (const [known, button] of buttons) button.tabIndex = known === id ? 0 : -1;
  };

  for (const choice of choices) {
    choice.boxes.forEach((box, number) => {
      const button = focusable(
        html("button", {
          type: "button",
          class: box[3] < LOW ? "gradviz-pick is-low" : "gradviz-pick",
          "aria-label": choice.aria,
          "data-id": choice.id,
          // References to a card are for the mouse only.
          "aria-hidden": number ? "true" : undefined,
        }),
        -1,
      );
      place(button, box, picture);
      button.addEventListener("click", () => toggle(choice.id));
      button.append(html("span", { class: "gradviz-pick-word", "aria-hidden": "true" }));
      layer.append(button);
      if (!number) buttons.set(choice.id, button);
    });
  }
  setStop(choices[0]?.id ?? "");

  const boxes = boxesOf(choices);
  const items = choices as unknown as readonly Item[];
  const flow = flowOf(items, boxes);
  layer.addEventListener("focusin", (event) => {
    const { id } = (event.target as HTMLElement).dataset;
    if (!id) return;
    trail = [...trail.filter((known) => known !== id), id].slice(-50);
    setStop(id);
  });
  layer.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const from = items.find(({ id }) => id === (event.target as HTMLElement).dataset.id);
    const ends: Record<string, string | undefined> = {
      Home: choices[0]?.id,
      End: choices.at(-1)?.id,
    };
    const move = moveOf(event.key, flow);
    if (!from || !(move || event.key in ends)) return;
    claim(event);
    const goal = move ? neighbour(from, move, flow, boxes, trail.slice(0, -1)) : ends[event.key];
    // Where no edge leads on, to what is nearest on that side.
    const near = move && !goal ? nearest(from.id, event.key, boxes) : goal;
    const button = buttons.get(near ?? "");
    button?.focus();
    button?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  });

  show();
  return {
    element: html("div", { class: "gradviz-picking" }, frame, said, hint),
    picked: () => choices.filter(({ id }) => picked.has(id)).map(({ id }) => id),
    pick(ids) {
      picked.clear();
      for (const id of ids) if (buttons.has(id)) picked.add(id);
      show();
    },
    enable(on) {
      isOpen = on;
      layer.classList.toggle("is-closed", !on);
      for (const button of buttons.values()) button.setAttribute("aria-disabled", String(!on));
    },
    mark(verdicts) {
      for (const choice of choices) {
        const verdict = verdicts.get(choice.id);
        const button = buttons.get(choice.id);
        if (!button) continue;
        setProps(button, { "data-verdict": verdict });
        const word = verdict ? SAID[verdict] : "";
        button.querySelector("span")?.setAttribute("data-word", word);
        button.setAttribute("aria-label", word ? `${choice.aria}: ${word}` : choice.aria);
      }
    },
  };
}

function boxesOf(choices: readonly PictureChoice[]): Map<string, Box> {
  const found = new Map<string, Box>();
  for (const { id, boxes } of choices) {
    const [x, y, width, height] = boxes[0] ?? [0, 0, 0, 0];
    found.set(id, { x, y, width, height });
  }
  return found;
}

/** The box that is nearest on the side of an arrow key. */
function nearest(from: string, key: string, boxes: ReadonlyMap<string, Box>): string | undefined {
  const isAcross = key === "ArrowLeft" || key === "ArrowRight";
  return nearestAlong(from, isAcross, key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1, 2, boxes);
}
