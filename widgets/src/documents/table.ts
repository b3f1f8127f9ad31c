// What a table shows, as gradviz/view/parts/data.py writes those of reports.
import type { Checked, CheckOf } from "./validators";
import { flag, listOf, oneOf, recordOf, text, whole } from "./validators";

const kind = oneOf(["text", "number", "bytes", "flag"]);
export type ColumnKind = Checked<typeof kind>;

/** `kind` is how its cells are sorted, absent where they are not; `help` is its meaning, or "". */
const column = recordOf({ name: text }, { kind, help: text });
export type Column = Checked<typeof column>;

/** null: not known, always sorted last. */
const key: CheckOf<string | number | null> = (value) =>
  value === null || text(value) || typeof value === "number";
/** `note` is what is new about it, in words. */
const cell = recordOf({ text }, { sort: key, note: text });
export type Cell = Checked<typeof cell>;

const row = recordOf(
  {
    /** Node or tensor that the row is about, "" if none. */
    id: text,
    cells: listOf(cell),
  },
  {
    /** The word that marks it in the picture: "∅ unreached". */
    mark: text,
    /** Of a table with blocks: 1 for what is in no block. What is in a block comes after it. */
    level: whole,
    /** Of a block, the number of rows in it, and whether it is open at first. */
    ...{ inside: whole, open: flag },
  },
);
export type Row = Checked<typeof row>;

export const tableFields = { caption: text, columns: listOf(column), rows: listOf(row) };
const table = recordOf(tableFields);
export type TableContent = Checked<typeof table>;
