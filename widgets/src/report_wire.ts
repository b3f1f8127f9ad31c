// The JSON that gradviz/view/documents/report.py writes: findings as sentences, tables and figures,
// and the picture of a graph with marks laid over it.
import { type Check, item, listOf, orNull, recordOf, text } from "./checks";
import type { Document, Facts } from "./wire";

export type ColumnKind = "text" | "number" | "bytes" | "flag";

export interface Column {
  readonly name: string;
  readonly kind: ColumnKind;
  /** What it means, "" if that goes without saying. */
  readonly help: string;
}

export interface Cell {
  readonly text: string;
  /** null, what is not known, is always sorted last. */
  readonly sort: string | number | null;
}

export interface ReportRow {
  /** Node or tensor in the picture that the row is about, "" if none. */
  readonly id: string;
  /** The word that marks it in the picture: "∅ unreached". */
  readonly mark: string;
  readonly cells: readonly Cell[];
}

export interface ReportTable {
  readonly caption: string;
  readonly columns: readonly Column[];
  readonly rows: readonly ReportRow[];
  /** A sentence about rows that are not here. */
  readonly more: string;
}

export interface Figure {
  readonly caption: string;
  readonly svg: string;
}

export interface ReportWire extends Document {
  readonly kind: "report";
  readonly sentences: readonly string[];
  readonly tables: readonly ReportTable[];
  readonly figures: readonly Figure[];
  /** What is marked in the picture, the most important first. */
  readonly marked: readonly string[];
  /** What is true of the graph; its picture is `svg`, which without a graph is the first figure. */
  readonly picture: Facts | null;
}

const key: Check = (value) => value === null || text(value) || typeof value === "number";

/** Fields that a picture has whoever shows it. */
export const factFields: Record<string, Check> = {
  items: listOf(item),
  outline: recordOf({
    columns: listOf(text),
    rows: listOf(recordOf({ id: text, cells: listOf(text) })),
  }),
};

export const reportFields: Record<string, Check> = {
  sentences: listOf(text),
  tables: listOf(
    recordOf({
      caption: text,
      columns: listOf(recordOf({ name: text, kind: text, help: text })),
      rows: listOf(
        recordOf({ id: text, mark: text, cells: listOf(recordOf({ text, sort: key })) }),
      ),
      more: text,
    }),
  ),
  marked: listOf(text),
  figures: listOf(recordOf({ caption: text, svg: text })),
  picture: orNull(recordOf({ title: text, summary: text, ...factFields })),
};

export function isReport(wire: object): wire is ReportWire {
  return "kind" in wire && wire.kind === "report";
}
