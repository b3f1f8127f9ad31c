// Nodes or tensors that are picked in the picture of the graph; answers and key are their labels.
import type { FormData } from "../../documents/question";
import { type QuestionPicture, questionPicture } from "../../documents/question_picture";
import { makePicking } from "../../graph/picking";
import type { Verdict as Mark } from "../../graph/question_picture";
import type { FormKind } from "./form";

export interface PictureData extends FormData {
  readonly picture: QuestionPicture;
}

/** Throws a sentence if the picture is damaged. */
export function pictureOf({ picture }: PictureData): QuestionPicture {
  if (!questionPicture(picture)) throw new Error("the picture of this question is damaged");
  return picture;
}

export const click: FormKind<PictureData> = {
  make({ prefix, signal, changed }, data) {
    const picture = pictureOf(data);
    const { choices } = picture;
    const what = picture.of === "tensors" ? "tensors" : "nodes";
    const picking = makePicking(picture, {
      ...{ prefix, signal },
      label: `${what} in the picture`,
      onChange: changed,
    });
    const idsOf = (labels: unknown) =>
      choices.filter(({ label }) => has(labels, label)).map(({ id }) => id);
    return {
      element: picking.element,
      answer() {
        const picked = picking.picked();
        const labels = choices.filter(({ id }) => picked.includes(id)).map(({ label }) => label);
        return labels.length ? labels : undefined;
      },
      show(answer) {
        picking.enable(true);
        picking.mark(new Map());
        picking.pick(idsOf(answer));
      },
      reveal(key, answer) {
        picking.enable(false);
        const marks = new Map<string, Mark>();
        for (const { id, label } of choices) {
          if (has(key, label)) marks.set(id, has(answer, label) ? "right" : "missed");
          else if (has(answer, label)) marks.set(id, "wrong");
        }
        picking.mark(marks);
      },
    };
  },
  judge({ picture }, key, answer) {
    const labels = picture.choices.map(({ label }) => label);
    const wrong = labels.filter((label) => has(answer, label) && !has(key, label));
    return { right: labels.every((label) => has(answer, label) === has(key, label)), wrong };
  },
};

const has = (labels: unknown, label: string) => Array.isArray(labels) && labels.includes(label);
