// The JSON that gradviz/view/documents/recording.py writes: the first step whole, of every later one
// what differs from the step before.
import { type CardWire, card } from "./card_wire";
import { type Check, item, listOf, mapOf, orNull, recordOf, text, whole } from "./checks";
import type { Document, Item } from "./wire";

/** Words, or a word that lights up the same thing everywhere: "n0", "t3", "line:0:4". */
export type Segment = string | { readonly id: string; readonly text: string };

export interface Source {
  readonly name: string;
  /** Number of the first line. */
  readonly first: number;
  readonly lines: readonly string[];
}

export interface View {
  readonly kind: string;
  /** 0: a line; 1: a node inside backward; 2: what happens inside a node. */
  readonly level: number;
  readonly line: number | null;
  /** Place in `codes` of the source that `line` belongs to. */
  readonly code: number;
  readonly next_line: number | null;
  readonly node: string | null;
  readonly caption: readonly Segment[];
  readonly sentence: string;
  readonly tick: string;
  /** More marks of the timeline: "culprit", "warning". Absent where there are none. */
  readonly ticks?: readonly string[];
  /** Explanations of what was noticed at this step. Absent where there are none. */
  readonly cards?: readonly CardWire[];
  /** Element -> which of its variants stands there from this step on. */
  readonly at: Readonly<Record<string, number>>;
  readonly saved: number;
  readonly memory: number | null;
  readonly backward: number | null;
  readonly items: Readonly<Record<string, Item | null>>;
  readonly tensors: Readonly<Record<string, readonly string[] | null>>;
  readonly rows: Readonly<Record<string, readonly string[] | null>>;
  readonly summary: string;
}

export interface RecordingWire extends Document {
  readonly kind: "recording";
  /** Step shown first when nothing else is asked for. */
  readonly open: number;
  /** Steps the author marked. */
  readonly stops: readonly number[];
  readonly codes: readonly Source[];
  /** Id of an element of the picture -> everything it can be; "" is not there. */
  readonly elements: Readonly<Record<string, readonly string[]>>;
  readonly views: readonly View[];
  readonly tensor_columns: readonly string[];
  readonly outline_columns: readonly string[];
  /** "code:line" -> ids of nodes and tensors made there. */
  readonly links: { readonly lines: Readonly<Record<string, readonly string[]>> };
}

const cells = orNull(listOf(text));
const segment: Check = (value) => text(value) || recordOf({ id: text, text })(value);
const view = recordOf({
  kind: text,
  level: whole,
  line: orNull(whole),
  code: whole,
  next_line: orNull(whole),
  node: orNull(text),
  caption: listOf(segment),
  sentence: text,
  tick: text,
  at: mapOf(whole),
  saved: whole,
  memory: orNull(whole),
  backward: orNull(whole),
  items: mapOf(orNull(item)),
  tensors: mapOf(cells),
  rows: mapOf(cells),
  summary: text,
  ticks: (value) => value === undefined || listOf(text)(value),
  cards: (value) => value === undefined || listOf(card)(value),
});

export const recordingFields: Record<string, Check> = {
  open: whole,
  stops: listOf(whole),
  codes: listOf(recordOf({ name: text, first: whole, lines: listOf(text) })),
  elements: mapOf(listOf(text)),
  views: (value) => listOf(view)(value) && (value as unknown[]).length > 0,
  tensor_columns: listOf(text),
  outline_columns: listOf(text),
  links: recordOf({ lines: mapOf(listOf(text)) }),
};

export function isRecording(wire: object): wire is RecordingWire {
  return "kind" in wire && wire.kind === "recording";
}
