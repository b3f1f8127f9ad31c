// From what the trait holds to a document that the panels can rely on.
import { explorationOptional } from "./exploration";
import { baseFields, baseOptional, byDensity, contentFields, type GraphDocument } from "./graph";
import {
  isRecording,
  type RecordingDocument,
  recordingFields,
  recordingOptional,
} from "./recording";
import { isReport, type ReportDocument, reportFields } from "./report";
import { text } from "./validators";

export type AnyDocument = GraphDocument | RecordingDocument | ReportDocument;

/**
 * A compressed document as plain data. Anything else is given back at once, for parseDocument to
 * judge. Rejects with a sentence a reader can act on.
 */
export function inflateDocument(value: unknown): unknown {
  const sent = value as Record<string, unknown> | null;
  const compressed = typeof sent === "object" && sent?.format === 1 && "deflate" in sent;
  return compressed ? inflate(sent.deflate) : value;
}

export async function inflate(deflated: unknown): Promise<unknown> {
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
export function parseDocument(value: unknown): AnyDocument {
  if (value instanceof Error) throw value;
  const found = value as Record<string, unknown> | null;
  if (typeof found !== "object" || found === null || !("format" in found)) {
    throw new Error("there is no graph to show yet");
  }
  if (found.format !== 1) {
    throw new Error(
      `this picture has format ${String(found.format)}, the front end reads format 1: run the cell again`,
    );
  }
  const graph = { pictures: byDensity(text), ...contentFields };
  const own = isRecording(found) ? recordingFields : isReport(found) ? reportFields : graph;
  const optional = { ...baseOptional, ...recordingOptional, ...explorationOptional };
  for (const [name, check] of Object.entries({ ...baseFields, ...own, ...optional })) {
    if (check(found[name]) || (name in optional && found[name] === undefined)) continue;
    throw new Error(`the field "${name}" of this picture is damaged`);
  }
  return found as unknown as AnyDocument;
}
