// What a table shows, as gradviz/view/parts/data.py writes those of reports.
import { type Check, flag, listOf, recordOf, text, whole } from "./validators";

export type ColumnKind = "text" | "number" | "bytes" | "flag";

export interface Column {
  readonly name: string;
  /** How its cells are sorted; absent where they are not. */
  readonly kind?: ColumnKind;
  /** Its meaning, or "". */
  readonly help?: string;
}

export interface Cell {
  readonly text: string;
  /** null: not known, always sorted last. */
  readonly sort?: string | number | null;
  /** What is new about it, in words. */
  readonly note?: string;
}

export interface Row {
  /** Node or tensor that the row is about, "" if none. */
  readonly id: string;
  readonly cells: readonly Cell[];
  /** The word that marks it in the picture: "∅ unreached". */
  readonly mark?: string;
  /** Of a table with blocks: 1 for what is in no block. What is in a block comes after it. */
  readonly level?: number;
  /** Of a block, the number of rows in it. */
  readonly inside?: number;
  /** Whether a block is open at first. */
  readonly open?: boolean;
}

export interface TableContent {
  readonly caption: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

const key: Check = (value) => value === null || text(value) || typeof value === "number";

export const tableFields: Readonly<Record<keyof TableContent, Check>> = {
  caption: text,
  columns: listOf(recordOf({ name: text, kind: text, help: text })),
  rows: listOf(
    recordOf(
      { id: text, mark: text, cells: listOf(recordOf({ text, sort: key })) },
      { level: whole, inside: whole, open: flag },
    ),
  ),
};
