// Rows in blocks: which rows are in which, which are shown, and in which order. Pure.

import type { Row } from "../documents/table";
import { type Sorting, sortRows } from "./sorting";

export interface ShownRow {
  readonly row: Row;
  /** Place among the rows of its block, from 1. */
  readonly place: number;
  /** How many rows its block has. */
  readonly of: number;
}

export class Blocks {
  /** Whether there are any; without blocks all rows are side by side. */
  readonly exist: boolean;
  readonly #inside = new Map<Row | null, Row[]>();
  readonly #above = new Map<Row, Row>();

  constructor(rows: readonly Row[]) {
    this.exist = rows.some(isBlock);
    const around: Row[] = [];
    for (const row of rows) {
      around.length = Math.min(around.length, (row.level ?? 1) - 1);
      const above = around.at(-1);
      const siblings = this.#inside.get(above ?? null);
      if (siblings) siblings.push(row);
      else this.#inside.set(above ?? null, [row]);
      if (above) this.#above.set(row, above);
      if (isBlock(row)) around.push(row);
    }
  }

  /** The block that a row is in. */
  above(row: Row): Row | undefined {
    return this.#above.get(row);
  }

  /** The rows that are shown, sorted inside of each block. */
  shown(sorting: Sorting, isOpen: (block: Row) => boolean): ShownRow[] {
    const found: ShownRow[] = [];
    const add = (above: Row | null) => {
      const rows = sortRows(this.#inside.get(above) ?? [], sorting);
      rows.forEach((row, i) => {
        found.push({ row, place: i + 1, of: rows.length });
        if (isBlock(row) && isOpen(row)) add(row);
      });
    };
    add(null);
    return found;
  }
}

export function isBlock(row: Row): boolean {
  return row.inside !== undefined;
}
