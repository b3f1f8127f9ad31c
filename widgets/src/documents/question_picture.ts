// The picture of a question: what can be picked in it, and where gradients are typed, as
// gradviz/view/documents/question_picture.py writes it.
import { type Checked, type CheckOf, flag, listOf, recordOf, text } from "./validators";

/** Left, top, width and height, in units of the picture. */
export type PlacedBox = readonly [number, number, number, number];

const numbers = (value: unknown, length: number) =>
  listOf(Number.isFinite)(value) && (value as unknown[]).length === length;
const size: CheckOf<readonly [number, number]> = (value) => numbers(value, 2);
const box: CheckOf<PlacedBox> = (value) => numbers(value, 4);
const boxes: CheckOf<readonly PlacedBox[]> = (value) =>
  listOf(box)(value) && (value as unknown[]).length > 0;

/** Something that can be picked. */
const choice = recordOf({
  ...{ id: text, label: text },
  /** What a screen reader says. */
  aria: text,
  /** Where it is, and references to it. */
  boxes,
  /** Choices towards the leaves, and towards the root. */
  ...{ next: listOf(text), prev: listOf(text) },
});
export type PictureChoice = Checked<typeof choice>;

/** An edge on which a gradient is typed. */
const field = recordOf({ id: text, label: text, box });

export const questionPicture = recordOf({
  /** SVG text. */
  svg: text,
  size,
  /** What can be picked, as a noun: "nodes", "tensors". */
  of: text,
  many: flag,
  choices: listOf(choice),
  fields: listOf(field),
});
export type QuestionPicture = Checked<typeof questionPicture>;
