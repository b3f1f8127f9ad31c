// The JSON that gradviz/view/documents/report.py writes: the parts of a report, and the picture of a
// graph with marks laid over it.

import type { BaseDocument, ByDensity, GraphContent } from "./graph";
import { byDensity, contentFields } from "./graph";
import { type Part, parts } from "./parts";
import { type Check, listOf, orNull, recordOf, text } from "./validators";

export interface ReportDocument extends BaseDocument {
  readonly kind: "report";
  readonly parts: readonly Part[];
  /** What is marked in the picture, the most important first. */
  readonly marked: readonly string[];
  /** The graph. */
  readonly picture: GraphContent | null;
  /** Its picture, SVG text; empty without a graph. */
  readonly pictures: ByDensity<string>;
}

export const reportFields: Record<string, Check> = {
  parts,
  marked: listOf(text),
  pictures: byDensity(text),
  picture: orNull(recordOf({ title: text, summary: text, ...contentFields })),
};

export function isReport(document: object): document is ReportDocument {
  return "kind" in document && document.kind === "report";
}
