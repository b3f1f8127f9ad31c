// The picture of a document in one density.
import type { Density } from "./graph";
import type { AnyDocument } from "./parse";
import { isRecording, type RecordingDocument } from "./recording";
import { isReport } from "./report";

/** Whether a document has its picture in this density, or of a folded one some of what is in it. */
export function isDrawnIn(wire: AnyDocument, density: Density): boolean {
  return wire.pictures[density] !== undefined || wire.fold?.insides[density] !== undefined;
}

/** The picture of a graph, of a recording that of the step shown first; "" where there is none. */
export function svgOf(wire: AnyDocument, density: Density): string {
  if (isRecording(wire)) return wire.pictures[density]?.svg ?? "";
  return wire.pictures[density] ?? "";
}

/** The text of an element of a recording in one variant; "" where it is absent. */
export function lookOf(
  recording: RecordingDocument,
  density: Density,
  key: string,
  variant: number,
): string {
  const look = recording.pictures[density]?.elements[key]?.[variant] ?? [];
  return look.map((place) => recording.pieces[place] ?? "").join("");
}

/** A report without a graph has figures instead. */
export function stillOf(wire: AnyDocument, density: Density): string {
  const svg = svgOf(wire, density);
  if (svg || !isReport(wire)) return svg;
  return wire.parts.find((part) => part.is === "Image")?.svg ?? "";
}
