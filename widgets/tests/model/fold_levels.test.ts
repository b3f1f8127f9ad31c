import { describe, expect, it } from "vitest";
import type { Fold, Inside } from "../../src/documents/folds";
import { openedAt } from "../../src/model/fold_levels";
import { Folds, NOTHING_ARRIVED } from "../../src/model/folds";

const NONE: ReadonlySet<string> = new Set();
const EMPTY: Inside = {
  ...{ width: 1, height: 1, cards: [], links: [], inputs: [], outputs: [], header: "" },
};

/** Folds from lines "id above kind", all of whose insides are known. */
function made(lines: readonly string[], first: readonly string[]): Folds {
  const folds = lines.map((line): Fold => {
    const [id = "", above = "", kind = ""] = line.split(" ");
    return {
      id,
      above,
      kind,
      path: id,
      label: id,
      words: [],
      nodes: 2,
      members: 2,
      has_inside: true,
    };
  });
  const insides = Object.fromEntries(folds.map(({ id }) => [id, EMPTY]));
  const field = {
    ...{ opened: first, direction: "TB" as const, folds, insides: { compact: insides } },
    ...{ limit: "", note: "" },
  };
  return new Folds(field, NOTHING_ARRIVED, []);
}

const GPT = [
  "f0  graph",
  "f1 f0 module",
  "f2 f1 views",
  "f3 f1 repeat",
  "f4 f3 module",
  "f5 f4 module",
  "f6 f4 leaves",
  "f7 f5 part",
];

describe("levels of folds", () => {
  const folds = made(GPT, ["f0", "f1"]);
  const at = (opened: readonly string[], root: string, level: "two" | "all" | "none") => {
    const { ids, isFirst } = openedAt(
      { folds, opened: new Set(opened), root, current: NONE },
      level,
    );
    return [[...ids].sort().join(" "), isFirst] as const;
  };

  it("shows a fold in one that is shown alone, closed or not, and not that one", () => {
    const alone = { folds, opened: new Set(["f0"]), root: "f1", current: NONE };
    expect(folds.shownFor("f4", alone)).toBe("f3");
  });

  it("opens modules and repeats two levels deeper than at first, whatever is open now", () => {
    expect(at(["f0", "f1"], "f0", "two")).toEqual(["f0 f1 f3 f4", false]);
    expect(at([], "", "two")).toEqual(["f0 f1 f3 f4", false]);
    expect(at(["f0", "f1", "f2", "f3"], "f0", "two")).toEqual(["f0 f1 f3 f4", false]);
  });

  it("counts from what is shown alone, and leaves what is outside of it", () => {
    expect(at(["f0", "f1", "f3"], "f3", "two")).toEqual(["f0 f1 f3 f4 f5", false]);
    expect(at(["f0", "f1", "f3", "f4", "f5"], "f5", "two")[0]).toBe("f0 f1 f3 f4 f5 f7");
  });

  it("knows where nothing but views and leaves is deeper", () => {
    const flat = made(["f0  graph", "f1 f0 views", "f2 f0 leaves"], ["f0"]);
    const now = { folds: flat, opened: new Set(["f0"]), root: "f0", current: NONE };
    expect(openedAt(now, "two").isFirst).toBe(true);
    expect([...openedAt(now, "all").ids]).toEqual(["f0", "f1", "f2"]);
  });

  it("opens all, and folds all", () => {
    expect(at(["f0", "f1"], "f0", "all")[0]).toBe("f0 f1 f2 f3 f4 f5 f6 f7");
    expect(at(["f0", "f1"], "f0", "none")[0]).toBe("");
    expect(at(["f0", "f1", "f3", "f4"], "f3", "none")[0]).toBe("f0 f1 f3");
  });
});
