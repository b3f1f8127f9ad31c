// The JSON that gradviz/view/documents/recording.py writes: the first step whole, of every later one
// what differs from the step before.
import { card, type ExplanationCard } from "./explanation";
import { type BaseDocument, type ByDensity, byDensity, type Item, item } from "./graph";
import { type Sentence, sentence } from "./sentence";
import { type Check, listOf, mapOf, orNull, recordOf, text, whole } from "./validators";

export interface Source {
  readonly name: string;
  /** Number of the first line. */
  readonly first: number;
  readonly lines: readonly string[];
}

/** One turn of a loop: its head and its body, once; or many in a row that are counted. */
export interface Turn {
  /** Place in `codes` and number of the line where the loop begins. */
  readonly code: number;
  readonly line: number;
  /** Which turn it is, of many the first, and of how many; null where that is not known. */
  readonly number: number | null;
  readonly count: number | null;
  /** How many other loops it is inside of. */
  readonly level: number;
  /** Places in `views` of its first and last step. */
  readonly first: number;
  readonly last: number;
  /** How many turns its steps stand for. */
  readonly times: number;
}

/** Steps of a backward that run the nodes of one fold: a module, a layer, a time step. */
export interface FoldRun {
  /** "h.3 · Block" */
  readonly label: string;
  /** What they did together. */
  readonly caption: Sentence;
  /** Places in `views` of the first and last step. */
  readonly first: number;
  readonly last: number;
  /** How many nodes they run. */
  readonly nodes: number;
  /** Whether they are shown one by one at first. */
  readonly open: boolean;
  /** The box of the picture in which these nodes are; absent where nothing is folded. */
  readonly fold?: string;
}

export interface StepView {
  readonly kind: string;
  /** What a person calls it: [7]; of the third sub-step inside it [7, 3]. */
  readonly number: readonly number[];
  /** 0: a line; 1: a node inside backward; 2: what happens inside a node. */
  readonly level: number;
  readonly line: number | null;
  /** Place in `codes` of the source that `line` belongs to. */
  readonly code: number;
  readonly next_line: number | null;
  readonly node: string | null;
  readonly caption: Sentence;
  readonly tick: string;
  /** More marks of the timeline: "culprit", "warning", "look". Absent where there are none. */
  readonly ticks?: readonly string[];
  /** Explanations of what was noticed at this step. Absent where there are none. */
  readonly cards?: readonly ExplanationCard[];
  /** Element -> its variant from this step on, in each density. */
  readonly at: ByDensity<Readonly<Record<string, number>>>;
  readonly saved: number;
  readonly memory: number | null;
  readonly backward: number | null;
  readonly items: Readonly<Record<string, Item | null>>;
  readonly tensors: Readonly<Record<string, readonly string[] | null>>;
  readonly rows: Readonly<Record<string, readonly string[] | null>>;
  readonly summary: string;
}

/** All steps as one picture. */
export interface StepPicture {
  /** The step shown first. */
  readonly svg: string;
  /** Id of an element of the picture -> its variants, each as places in `pieces`; none: absent. */
  readonly elements: Readonly<Record<string, readonly (readonly number[])[]>>;
}

export interface RecordingDocument extends BaseDocument {
  readonly kind: "recording";
  readonly pictures: ByDensity<StepPicture>;
  /** What the text of the elements of all pictures is made of. */
  readonly pieces: readonly string[];
  /** Place in `views` of the step shown first by default. */
  readonly open: number;
  /** Places of the steps that the author marked. */
  readonly stops: readonly number[];
  readonly turns: readonly Turn[];
  /** A run before those inside it. Absent where no backward runs many nodes. */
  readonly runs?: readonly FoldRun[];
  readonly codes: readonly Source[];
  readonly views: readonly StepView[];
  readonly tensor_columns: readonly string[];
  readonly outline_columns: readonly string[];
  readonly links: {
    /** "code:line" -> ids of nodes and tensors made there. */
    readonly lines: Readonly<Record<string, readonly string[]>>;
    /** A leaf's node -> its tensors, which are on its card. */
    readonly leaves: Readonly<Record<string, readonly string[]>>;
  };
}

const cells = orNull(listOf(text));
const view = recordOf({
  kind: text,
  number: (value) => listOf(whole)(value) && (value as unknown[]).length > 0,
  level: whole,
  line: orNull(whole),
  code: whole,
  next_line: orNull(whole),
  node: orNull(text),
  caption: sentence,
  tick: text,
  at: byDensity(mapOf(whole)),
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

const turn = recordOf({
  code: whole,
  line: whole,
  number: orNull(whole),
  count: orNull(whole),
  level: whole,
  first: whole,
  last: whole,
  times: whole,
});

const run = recordOf({
  label: text,
  caption: sentence,
  first: whole,
  last: whole,
  nodes: whole,
  open: (value) => typeof value === "boolean",
  fold: (value) => value === undefined || text(value),
});

export const recordingFields: Record<string, Check> = {
  open: whole,
  turns: listOf(turn),
  runs: (value) => value === undefined || listOf(run)(value),
  stops: listOf(whole),
  codes: listOf(recordOf({ name: text, first: whole, lines: listOf(text) })),
  pictures: byDensity(recordOf({ svg: text, elements: mapOf(listOf(listOf(whole))) })),
  pieces: listOf(text),
  views: (value) => listOf(view)(value) && (value as unknown[]).length > 0,
  tensor_columns: listOf(text),
  outline_columns: listOf(text),
  links: recordOf({ lines: mapOf(listOf(text)), leaves: mapOf(listOf(text)) }),
};

export function isRecording(document: object): document is RecordingDocument {
  return "kind" in document && document.kind === "recording";
}
