// @vitest-environment node
import { describe, expect, it } from "vitest";
import type { Row } from "../../src/documents/table";
import { nextOrder, sortRows } from "../../src/table/sorting";

const rowsOf = (keys: readonly (string | number | null)[]): Row[] =>
  keys.map((sort, i) => ({ id: `n${i}`, mark: "", cells: [{ text: String(sort), sort }] }));
const sorted = (keys: readonly (string | number | null)[], order: "ascending" | "descending") =>
  sortRows(rowsOf(keys), { column: 0, order }).map(({ cells }) => cells[0]?.sort);

describe("sorting", () => {
  it("puts what is not known last, whichever way", () => {
    expect(sorted([null, 2, null, 10, 1], "ascending")).toEqual([1, 2, 10, null, null]);
    expect(sorted([null, 2, null, 10, 1], "descending")).toEqual([10, 2, 1, null, null]);
  });

  it("counts inside names", () => {
    const names = ["layers.10.w", "layers.2.w", "layers.1.w"];
    expect(sorted(names, "ascending")).toEqual(["layers.1.w", "layers.2.w", "layers.10.w"]);
  });

  it.each(["ascending", "descending"] as const)("keeps equals in order, %s", (order) => {
    const ids = sortRows(rowsOf([1, 0, 1, null, 1, null]), { column: 0, order }).map(
      ({ id }) => id,
    );
    const ones = ids.filter((id) => ["n0", "n2", "n4"].includes(id));
    expect(ones).toEqual(["n0", "n2", "n4"]);
    expect(ids.slice(-2)).toEqual(["n3", "n5"]);
  });

  it("begins with the largest number and with A, and ends where it began", () => {
    const ways = (kind: "number" | "text") => {
      const first = nextOrder("none", kind);
      const second = nextOrder(first, kind);
      return [first, second, nextOrder(second, kind)];
    };
    expect(ways("number")).toEqual(["descending", "ascending", "none"]);
    expect(ways("text")).toEqual(["ascending", "descending", "none"]);
  });
});
