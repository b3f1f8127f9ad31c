// Sorting the rows of a table: stable, numbers by size, names as people count, what is not known
// last. Pure.
import type { ColumnKind, Row } from "../documents/table";

export type Order = "none" | "ascending" | "descending";

export interface Sorting {
  readonly column: number;
  readonly order: Order;
}

export const UNSORTED: Sorting = { column: 0, order: "none" };

/** layers.2 comes before layers.10. */
const names = new Intl.Collator("en", { numeric: true });

export function sortRows(rows: readonly Row[], { column, order }: Sorting): Row[] {
  if (order === "none") return [...rows];
  const sign = order === "ascending" ? 1 : -1;
  return [...rows].sort((a, b) => {
    const one = a.cells[column]?.sort ?? null;
    const other = b.cells[column]?.sort ?? null;
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    if (typeof one === "number" && typeof other === "number") {
      return one === other ? 0 : one < other ? -sign : sign;
    }
    return sign * names.compare(String(one), String(other));
  });
}

/** Of numbers the largest first, of words the first of the alphabet; then the other way round;
    then as they were. */
export function nextOrder(order: Order, kind: ColumnKind): Order {
  const way: readonly Order[] = isNumeric(kind)
    ? ["none", "descending", "ascending"]
    : ["none", "ascending", "descending"];
  return way[(way.indexOf(order) + 1) % way.length] as Order;
}

export function isNumeric(kind: ColumnKind): boolean {
  return kind === "number" || kind === "bytes";
}

export function sortWords({ order }: Sorting, kind: ColumnKind): string {
  if (order === "none") return "original order";
  if (isNumeric(kind)) return order === "ascending" ? "smallest first" : "largest first";
  if (kind === "flag") return order === "ascending" ? "no first" : "yes first";
  return order === "ascending" ? "from A to Z" : "from Z to A";
}
