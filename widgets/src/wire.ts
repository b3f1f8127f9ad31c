// The JSON that gradviz/view/documents/graph.py writes. tests/golden/wire/*.json binds both sides.
import { type Check, listOf, recordOf, text } from "./checks";
import { isRecording, type RecordingWire, recordingFields } from "./recording_wire";
import { factFields, isReport, type ReportWire, reportFields } from "./report_wire";

export type Kind = "node" | "leaf" | "tensor";

export interface Section {
  readonly heading: string;
  readonly rows: readonly (readonly [string, string])[];
}

export interface Item {
  readonly id: string;
  readonly kind: Kind;
  readonly label: string;
  /** One sentence for a screen reader. */
  readonly aria: string;
  /** Lower-case text that find looks in. */
  readonly find: string;
  /** Neighbours towards the leaves, in the order of next_functions. */
  readonly next: readonly string[];
  /** Neighbours towards the root. */
  readonly prev: readonly string[];
  readonly details: readonly Section[];
}

export interface LegendEntry {
  readonly class: string;
  readonly label: string;
}

export interface Outline {
  readonly columns: readonly string[];
  readonly rows: readonly { readonly id: string; readonly cells: readonly string[] }[];
}

/** What is true of a graph at one moment. */
export interface Facts {
  readonly title: string;
  readonly summary: string;
  readonly items: readonly Item[];
  readonly outline: Outline;
}

/** What a graph and a recording have in common. */
export interface Document {
  readonly format: 1;
  readonly title: string;
  readonly svg: string;
  readonly legend: readonly LegendEntry[];
  readonly text: string;
  readonly summary: string;
  /** What Graph.from_json or Recording.from_json reads; absent when it would be large. */
  readonly json?: string;
}

export interface Wire extends Document, Facts {}

export type AnyWire = Wire | RecordingWire | ReportWire;

const common: Record<string, Check> = {
  title: text,
  svg: text,
  text,
  summary: text,
  legend: listOf(recordOf({ class: text, label: text })),
  json: (value) => value === undefined || text(value),
};

/**
 * A compressed wire as plain data. Anything else is given back at once, for parseWire to judge.
 * Rejects with a sentence a reader can act on.
 */
export function expandWire(value: unknown): unknown {
  const sent = value as Record<string, unknown> | null;
  const compressed = typeof sent === "object" && sent?.format === 1 && "deflate" in sent;
  return compressed ? inflate(sent.deflate) : value;
}

async function inflate(deflated: unknown): Promise<unknown> {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser is too old to unpack it");
  }
  try {
    const bytes = Uint8Array.from(atob(deflated as string), (letter) => letter.charCodeAt(0));
    const inflated = new Response(bytes).body?.pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(inflated as ReadableStream).text());
  } catch (cause) {
    throw new Error("the data of this picture is damaged: run the cell again", { cause });
  }
}

/** Checks everything the panels rely on. Throws a sentence a reader can act on. */
export function parseWire(value: unknown): AnyWire {
  if (value instanceof Error) throw value;
  const wire = value as Record<string, unknown> | null;
  if (typeof wire !== "object" || wire === null || !("format" in wire)) {
    throw new Error("there is no graph to show yet");
  }
  if (wire.format !== 1) {
    throw new Error(
      `this picture has format ${String(wire.format)}, the front end reads format 1: run the cell again`,
    );
  }
  const own = isRecording(wire) ? recordingFields : isReport(wire) ? reportFields : factFields;
  for (const [name, check] of Object.entries({ ...common, ...own })) {
    if (!check(wire[name])) throw new Error(`the field "${name}" of this picture is damaged`);
  }
  return wire as unknown as AnyWire;
}
