// The picture of a question: what can be picked in it, and where gradients are typed, as
// gradviz/view/documents/question_picture.py writes it.
import { type Check, listOf, recordOf, text } from "./validators";

/** Left, top, width and height, in units of the picture. */
export type PlacedBox = readonly [number, number, number, number];

/** Something that can be picked. */
export interface PictureChoice {
  readonly id: string;
  readonly label: string;
  /** What a screen reader says. */
  readonly aria: string;
  /** Where it is, and references to it. */
  readonly boxes: readonly PlacedBox[];
  /** Choices towards the leaves. */
  readonly next: readonly string[];
  /** Choices towards the root. */
  readonly prev: readonly string[];
}

/** An edge on which a gradient is typed. */
export interface PictureField {
  readonly id: string;
  readonly label: string;
  readonly box: PlacedBox;
}

export interface QuestionPicture {
  /** SVG text. */
  readonly svg: string;
  readonly size: readonly [number, number];
  /** What can be picked, as a noun: "nodes", "tensors". */
  readonly of: string;
  readonly many: boolean;
  readonly choices: readonly PictureChoice[];
  readonly fields: readonly PictureField[];
}

const numbers =
  (length: number): Check =>
  (value) =>
    listOf(Number.isFinite)(value) && (value as unknown[]).length === length;

export const questionPicture: Check = recordOf({
  svg: text,
  size: numbers(2),
  of: text,
  many: (value) => typeof value === "boolean",
  choices: listOf(
    recordOf({
      id: text,
      label: text,
      aria: text,
      boxes: (value) => listOf(numbers(4))(value) && (value as unknown[]).length > 0,
      next: listOf(text),
      prev: listOf(text),
    }),
  ),
  fields: listOf(recordOf({ id: text, label: text, box: numbers(4) })),
});
