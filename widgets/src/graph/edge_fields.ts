// Fields for the gradients on the edges of a picture: on the edges where there is room, in a list below
// the picture where there is little.

import type { QuestionPicture } from "../documents/question_picture";
import { focusable, html, setProps } from "../lib/dom";
import { type Asking, makePictureFrame, place, SAID, type Verdict } from "./question_picture";

/** Pixels of width below which the fields are in a list. */
const NARROW = 480;
const HINT = "Type a number, a list such as [1, 2], or None.";

export interface EdgeFields {
  readonly element: HTMLElement;
  /** What was typed, by id of the edge; "" where nothing was. */
  values(): Readonly<Record<string, string>>;
  fill(values: Readonly<Record<string, string>>): void;
  enable(on: boolean): void;
  /** Says of fields whether they are right, in other words where there are some. */
  mark(verdicts: ReadonlyMap<string, Verdict>, words?: ReadonlyMap<string, string>): void;
}

interface Context extends Asking {
  /** Whether a text can be an answer. */
  isTyped(text: string): boolean;
  /** Called at Enter. */
  onSubmit(): void;
}

export function makeEdgeFields(picture: QuestionPicture, context: Context): EdgeFields {
  const list = html("div", {
    class: "gradviz-blanks",
    role: "group",
    "aria-label": context.label,
  });
  const inputs = new Map<string, HTMLInputElement>();
  const rows = picture.fields.map(({ id, label, box }, at) => {
    const input = focusable(
      html("input", {
        type: "text",
        size: 6,
        autocomplete: "off",
        spellcheck: "false",
        "aria-label": said(label, at),
        "data-id": id,
      }),
    );
    const check = () => {
      const isWrong = input.value.trim() !== "" && !context.isTyped(input.value);
      setProps(input, { "aria-invalid": isWrong && "true" });
      input.title = isWrong ? HINT : "";
    };
    input.addEventListener("input", () => {
      if (input.hasAttribute("aria-invalid")) check();
      context.onChange();
    });
    input.addEventListener("change", check);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") context.onSubmit();
    });
    inputs.set(id, input);
    const name = html("span", { class: "gradviz-blank-name", "aria-hidden": "true" });
    name.append(html("b", {}, String(at + 1)), ` ${label}`);
    const word = html("span", { class: "gradviz-blank-word", "aria-hidden": "true" });
    const row = html("label", { class: "gradviz-blank" }, name, input, word);
    place(row, box, picture);
    return row;
  });
  list.append(...rows);

  let layer: HTMLElement | undefined;
  const hint = html("p", { class: "gradviz-asked-said", id: `${context.prefix}-typing` }, HINT);
  for (const input of inputs.values()) input.setAttribute("aria-describedby", hint.id);
  const element = html("div", { class: "gradviz-typing" });
  const arrange = (room: number, zoom: number) => {
    if (!layer) return;
    const isList = room > 0 && (room < NARROW || picture.size[0] * zoom > room);
    const home = isList ? element : layer;
    element.classList.toggle("is-list", isList);
    if (list.parentElement === home) return;
    // What is moved loses the focus.
    const focused = list.contains(document.activeElement) ? document.activeElement : undefined;
    if (isList) hint.before(list);
    else layer.append(list);
    (focused as HTMLElement | undefined)?.focus({ preventScroll: true });
  };
  const frame = makePictureFrame(picture, context.prefix, context.signal, arrange);
  layer = frame.layer;
  layer.append(list);
  element.append(frame.element, hint);
  return {
    element,
    values: () => Object.fromEntries([...inputs].map(([id, input]) => [id, input.value.trim()])),
    fill(values) {
      for (const [id, input] of inputs) {
        input.value = values[id] ?? "";
        input.removeAttribute("aria-invalid");
      }
    },
    enable(on) {
      for (const input of inputs.values()) input.readOnly = !on;
    },
    mark(verdicts, words = new Map()) {
      picture.fields.forEach(({ id, label }, at) => {
        const verdict = verdicts.get(id);
        const row = rows[at];
        if (!row) return;
        setProps(row, { "data-verdict": verdict });
        const word = words.get(id) ?? (verdict ? SAID[verdict] : "");
        row.querySelector(".gradviz-blank-word")?.replaceChildren(word);
        const whole = word ? `${said(label, at)}: ${word}` : said(label, at);
        inputs.get(id)?.setAttribute("aria-label", whole);
      });
    },
  };
}

const said = (label: string, at: number) => `${at + 1}: gradient on the edge ${label}`;
