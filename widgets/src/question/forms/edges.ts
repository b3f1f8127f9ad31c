// Gradients that are typed on edges of the picture; answers and key are by the labels of the edges.
import { makeEdgeFields } from "../../graph/edge_fields";
import type { Verdict as Mark } from "../../graph/question_picture";
import { type PictureData, pictureOf } from "./click";
import type { FormKind } from "./form";
import { isSame, readValue, type Value } from "./numbers";

type ByEdge = Readonly<Record<string, Value>>;

/** The label of an edge as Python has it. */
const nameOf = (label: string) => label.replace("→", "->");
const read = (typed: unknown) => (typeof typed === "string" ? readValue(typed) : typed) as Value;

/** As gradviz/model/forms/numbers.py writes a key. */
function wordsOf(value: Value): string {
  if (value === null) return "None";
  if (typeof value === "number") return String(Number(value.toPrecision(6)) + 0);
  return typeof value === "string" ? value : `[${value.map(wordsOf).join(", ")}]`;
}

export const edges: FormKind<PictureData> = {
  make({ prefix, signal, changed, submit }, data) {
    const picture = pictureOf(data);
    const fields = makeEdgeFields(picture, {
      ...{ prefix, signal },
      label: "gradients on the edges of the picture",
      isTyped: (text) => readValue(text) !== undefined,
      onChange: changed,
      onSubmit: submit,
    });
    return {
      element: fields.element,
      answer() {
        const values = fields.values();
        const all = picture.fields.map(({ id, label }) => [nameOf(label), values[id] ?? ""]);
        const isWhole = all.every(([, text]) => readValue(text ?? "") !== undefined);
        return isWhole ? Object.fromEntries(all) : undefined;
      },
      show(answer) {
        const typed = (answer ?? {}) as Readonly<Record<string, unknown>>;
        const values = picture.fields.map(({ id, label }) => [id, typed[nameOf(label)]]);
        fields.enable(true);
        fields.mark(new Map());
        fields.fill(Object.fromEntries(values.map(([id, text]) => [id, String(text ?? "")])));
      },
      reveal(key, answer) {
        const [right, typed] = [key as ByEdge, answer as Readonly<Record<string, unknown>>];
        const marks = new Map<string, Mark>();
        const words = new Map<string, string>();
        for (const { id, label } of picture.fields) {
          const name = nameOf(label);
          const is = isSame(right[name] as Value, read(typed[name]));
          marks.set(id, is ? "right" : "wrong");
          if (!is) words.set(id, `✕ torch: ${wordsOf(right[name] as Value)}`);
        }
        fields.enable(false);
        fields.mark(marks, words);
      },
    };
  },
  judge({ picture }, key, answer) {
    const [right, typed] = [key as ByEdge, answer as Readonly<Record<string, unknown>>];
    const wrong = picture.fields
      .map(({ label }) => nameOf(label))
      .filter((name) => !isSame(right[name] as Value, read(typed[name])));
    return { right: wrong.length === 0, wrong };
  },
};
