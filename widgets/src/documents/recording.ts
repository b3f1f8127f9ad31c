// The JSON that gradviz/view/documents/recording.py writes: the first step whole, of every later one
// what differs from the step before.
import { card } from "./explanation";
import { type BaseDocument, byDensity, item } from "./graph";
import { type Sentence, sentence, wordsOf } from "./sentence";
import type { Checked, CheckOf } from "./validators";
import { flag, listOf, mapOf, orNull, recordOf, text, whole } from "./validators";

const source = recordOf({
  name: text,
  /** Number of the first line. */
  first: whole,
  lines: listOf(text),
});
export type Source = Checked<typeof source>;

/** One turn of a loop: its head and its body, once; or many in a row that are counted. */
const turn = recordOf({
  /** Place in `codes` and number of the line where the loop begins. */
  ...{ code: whole, line: whole },
  /** Which turn it is, of many the first, and of how many; null where that is not known. */
  ...{ number: orNull(whole), count: orNull(whole) },
  /** How many other loops it is inside of. */
  level: whole,
  /** Places in `views` of its first and last step. */
  ...{ first: whole, last: whole },
  /** How many turns its steps stand for. */
  times: whole,
});
export type Turn = Checked<typeof turn>;

/** A row of numbers: what it tells, then names, shapes and values. */
export type CaptionRow = readonly [string, ...Sentence[]];
const captionRow: CheckOf<CaptionRow> = (value) =>
  Array.isArray(value) && text(value[0]) && value.slice(1).every((one) => sentence(one));

/** What happened at a step. */
const caption = recordOf(
  {
    /** One sentence. */
    words: sentence,
  },
  {
    /** Where: a line, a box with the path of its module. */
    place: sentence,
    rows: listOf(captionRow),
    /** All that is known. */
    details: sentence,
  },
);
export type Caption = Checked<typeof caption>;

/** A caption as it is read out. */
export const captionText = ({ place, words }: Caption): string =>
  place ? `${wordsOf(place)}: ${wordsOf(words)}` : wordsOf(words);

/** Steps of a backward that run the nodes of one fold: a module, a layer, a time step. */
const run = recordOf(
  {
    /** "h.3 · Block" */
    label: text,
    /** What they did together. */
    caption,
    /** Places in `views` of the first and last step. */
    ...{ first: whole, last: whole },
    /** How many nodes they run. */
    nodes: whole,
    /** Whether they are shown one by one at first. */
    open: flag,
  },
  /** The box of the picture in which these nodes are; absent where nothing is folded. */
  { fold: text },
);
export type FoldRun = Checked<typeof run>;

const cells = orNull(listOf(text));
const view = recordOf(
  {
    kind: text,
    /** What a person calls it: [7]; of the third sub-step inside it [7, 3]. */
    number: ((value) => listOf(whole)(value) && (value as unknown[]).length > 0) as CheckOf<
      readonly number[]
    >,
    /** 0: a line; 1: a node inside backward; 2: what happens inside a node. */
    level: whole,
    line: orNull(whole),
    /** Place in `codes` of the source that `line` belongs to. */
    code: whole,
    next_line: orNull(whole),
    node: orNull(text),
    caption,
    tick: text,
    /** "forward", "backward", "step": what an optimizer does. */
    phase: text,
    /** Element -> its variant from this step on, in each density. */
    at: byDensity(mapOf(whole)),
    ...{ saved: whole, memory: orNull(whole), backward: orNull(whole) },
    ...{ items: mapOf(orNull(item)), tensors: mapOf(cells), rows: mapOf(cells) },
    summary: text,
  },
  {
    /** More marks of the timeline: "culprit", "warning", "look". Absent where there are none. */
    ticks: listOf(text),
    /** Explanations of what was noticed at this step. Absent where there are none. */
    cards: listOf(card),
  },
);
export type StepView = Checked<typeof view>;

/** All that is to come, where only some of the steps are here. */
const of = recordOf({
  /** How many steps and sub-steps there are. */
  steps: whole,
  /** The number of the last step. */
  last: whole,
});

/** All steps as one picture. */
const picture = recordOf({
  /** The step shown first. */
  svg: text,
  /** Id of an element of the picture -> its variants, each as places in `pieces`; none: absent. */
  elements: mapOf(listOf(listOf(whole))),
});
export type StepPicture = Checked<typeof picture>;

export const recordingFields = {
  pictures: byDensity(picture),
  /** What the text of the elements of all pictures is made of. */
  pieces: listOf(text),
  /** Place in `views` of the step shown first by default. */
  open: whole,
  /** Places of the steps that the author marked. */
  stops: listOf(whole),
  turns: listOf(turn),
  codes: listOf(source),
  views: ((value) => listOf(view)(value) && (value as unknown[]).length > 0) as CheckOf<
    readonly StepView[]
  >,
  ...{ tensor_columns: listOf(text), outline_columns: listOf(text) },
  /** "code:line" -> ids of nodes and tensors made there; a leaf's node -> its tensors, which are on its
   * card. */
  links: recordOf({ lines: mapOf(listOf(text)), leaves: mapOf(listOf(text)) }),
};
export const recordingOptional = {
  /** Absent where all steps are here. */
  of,
  /** A run before those inside it. Absent where no backward runs many nodes. */
  runs: listOf(run),
};
const recording = recordOf(recordingFields, recordingOptional);
export interface RecordingDocument extends BaseDocument, Checked<typeof recording> {
  readonly kind: "recording";
}

export function isRecording(document: object): document is RecordingDocument {
  return "kind" in document && document.kind === "recording";
}
