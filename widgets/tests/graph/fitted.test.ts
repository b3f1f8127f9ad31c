import { describe, expect, it } from "vitest";
import { fitted } from "../../src/graph/fitted";
import { Folds, NOTHING_ARRIVED } from "../../src/model/folds";

const fold = (id: string, above: string, nodes: number, members: number) => ({
  ...{ id, above, nodes, members, kind: "module", path: id, label: id, words: [] },
  has_inside: true,
});

/** A graph with a large module in which a small one is, and one beside it. */
const folds = new Folds(
  {
    opened: ["f0", "f1", "f2", "f3"],
    direction: "TB",
    folds: [
      fold("f0", "", 100, 6),
      fold("f1", "f0", 80, 5),
      fold("f2", "f1", 40, 4),
      fold("f3", "f0", 10, 3),
    ],
    insides: {},
    ...{ limit: "", note: "" },
  },
  NOTHING_ARRIVED,
  [],
);

describe("folds that are open where there is little room", () => {
  const width = (opened: ReadonlySet<string>) => 100 * opened.size;

  it("are those of the document where they fit", () => {
    expect(fitted(folds, width, 400)).toBe(folds.opening);
  });

  it("are without the smallest that have no open one inside, as long as it is too wide", () => {
    expect([...fitted(folds, width, 300)]).toEqual(["f0", "f1", "f2"]);
    expect([...fitted(folds, width, 250)]).toEqual(["f0", "f1"]);
  });

  it("are never so few that there are less than four boxes", () => {
    expect([...fitted(folds, width, 10)]).toEqual(["f0"]);
  });
});
