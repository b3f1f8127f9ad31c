// The JSON that gradviz/view/documents/report.py writes: findings as sentences, tables and figures,
// and the picture of a graph with marks laid over it.

import {
  type BaseDocument,
  type ByDensity,
  byDensity,
  contentFields,
  type GraphContent,
} from "./graph";
import { type Check, listOf, oneOf, orNull, recordOf, text, whole } from "./validators";

export type ColumnKind = "text" | "number" | "bytes" | "flag";

export interface ReportColumn {
  readonly name: string;
  readonly kind: ColumnKind;
  /** Its meaning, or "". */
  readonly help: string;
}

export interface ReportCell {
  readonly text: string;
  /** null: not known, always sorted last. */
  readonly sort: string | number | null;
}

export interface ReportRow {
  /** Node or tensor in the picture that the row is about, "" if none. */
  readonly id: string;
  /** The word that marks it in the picture: "∅ unreached". */
  readonly mark: string;
  readonly cells: readonly ReportCell[];
  /** Of a table with blocks: 1 for what is in no block. What is in a block comes after it. */
  readonly level?: number;
  /** Of a block, the number of rows in it. */
  readonly inside?: number;
  /** Whether a block is open at first. */
  readonly open?: boolean;
}

export interface ReportTable {
  readonly caption: string;
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly ReportRow[];
  /** A sentence about rows that are not here. */
  readonly more: string;
}

export interface Figure {
  readonly caption: string;
  readonly svg: string;
}

export interface ReportDocument extends BaseDocument {
  readonly kind: "report";
  readonly sentences: readonly string[];
  readonly tables: readonly ReportTable[];
  readonly figures: readonly Figure[];
  /** What is marked in the picture, the most important first. */
  readonly marked: readonly string[];
  /** The graph. */
  readonly picture: GraphContent | null;
  /** Its picture, SVG text; empty without a graph. */
  readonly pictures: ByDensity<string>;
}

const perhaps =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const key: Check = (value) => value === null || text(value) || typeof value === "number";

export const reportFields: Record<string, Check> = {
  sentences: listOf(text),
  tables: listOf(
    recordOf({
      caption: text,
      columns: listOf(recordOf({ name: text, kind: text, help: text })),
      rows: listOf(
        recordOf({
          id: text,
          mark: text,
          cells: listOf(recordOf({ text, sort: key })),
          level: perhaps(whole),
          inside: perhaps(whole),
          open: perhaps(oneOf([true, false])),
        }),
      ),
      more: text,
    }),
  ),
  marked: listOf(text),
  figures: listOf(recordOf({ caption: text, svg: text })),
  pictures: byDensity(text),
  picture: orNull(recordOf({ title: text, summary: text, ...contentFields })),
};

export function isReport(document: object): document is ReportDocument {
  return "kind" in document && document.kind === "report";
}
