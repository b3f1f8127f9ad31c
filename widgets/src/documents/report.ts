// The JSON that gradviz/view/documents/report.py writes: the parts of a report, and the picture of a
// graph with marks laid over it.

import { type BaseDocument, byDensity, content } from "./graph";
import { parts } from "./parts";
import { type Checked, listOf, orNull, recordOf, text } from "./validators";

export const reportFields = {
  parts,
  /** What is marked in the picture, the most important first. */
  marked: listOf(text),
  /** The graph. */
  picture: orNull(content),
  /** Its picture, SVG text; empty without a graph. */
  pictures: byDensity(text),
};
const report = recordOf(reportFields);
export interface ReportDocument extends BaseDocument, Checked<typeof report> {
  readonly kind: "report";
}

export function isReport(document: object): document is ReportDocument {
  return "kind" in document && document.kind === "report";
}
