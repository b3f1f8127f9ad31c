// @vitest-environment node
import { describe, expect, it } from "vitest";
import { DENSITIES, type Density } from "../../src/documents/graph";
import { parseDocument } from "../../src/documents/parse";
import type { RecordingDocument, StepView } from "../../src/documents/recording";
import { relatedTo, subjectsOf } from "../../src/model/related";
import { inOrder, type StepState, Timeline } from "../../src/model/timeline";
import { recording, VIEWS } from "../support/recording";

/** The same program ten times over, long enough to be folded in parts. */
const long: RecordingDocument = {
  ...recording,
  views: Array.from({ length: 10 }, () => VIEWS).flat(),
};

const none: ReadonlySet<number> = new Set();

/** Folded from the first step, one by one. */
function plainly(wire: RecordingDocument, index: number): StepState {
  const parts = ["items", "tensors", "rows"] as const;
  const made = Object.fromEntries(parts.map((part) => [part, new Map<string, unknown>()]));
  for (const view of wire.views.slice(0, index + 1)) {
    for (const part of parts) {
      for (const [key, value] of Object.entries(view[part])) {
        if (value === null) made[part]?.delete(key);
        else made[part]?.set(key, value);
      }
    }
  }
  const variants = (density: Density) =>
    new Map(wire.views.slice(0, index + 1).flatMap(({ at }) => Object.entries(at[density] ?? {})));
  const at = new Map(DENSITIES.map((density) => [density, variants(density)]));
  return { at, ...made } as unknown as StepState;
}

describe("the state of a step", () => {
  it("is that of all changes up to it, whichever step was asked for before", () => {
    const timeline = new Timeline(long);
    for (const index of [119, 0, 16, 15, 17, 64, 31, 32, 33, 118, 1]) {
      expect(timeline.state(index), String(index)).toEqual(plainly(long, index));
    }
  });

  it("lists nodes before tensors and by number, also where one came back", () => {
    const ids = ["t10", "n2", "t2", "n10", "n1"].map((id) => [id, 0] as const);
    const sorted = inOrder(new Map(ids)).map(([id]) => id);
    expect(sorted).toEqual(["n1", "n2", "n10", "t2", "t10"]);
  });

  it("knows what is gone", () => {
    const { items, tensors } = new Timeline(recording).state(11);
    expect([...items.keys()]).toEqual(["n1", "n2"]);
    expect([...tensors.keys()]).toEqual(["t0", "t1"]);
  });
});

describe("what a step is about", () => {
  const step = VIEWS[10] as StepView;
  const about = (view: Partial<StepView>) =>
    subjectsOf(
      new Timeline({ ...recording, views: [...VIEWS, { ...step, ...view }] }),
      VIEWS.length,
    );
  const line = { kind: "line", node: null, line: 99 };
  const row = ["a", "True", "True", "False", "0", "None"];

  it("is the node that ran", () => {
    expect(about({ node: "n0", tensors: { t0: row } })).toEqual(["n0"]);
  });

  it("is what the caption names rather than another tensor that it changed", () => {
    const caption = { words: ["ran"], details: [{ id: "t1", text: "b" }] };
    expect(about({ ...line, caption, tensors: { t0: row } })).toEqual(["n2"]);
  });

  it("is a tensor that it changed where the caption names none", () => {
    expect(about({ ...line, caption: { words: ["ran"] }, tensors: { t0: row } })).toEqual(["n1"]);
    expect(about({ ...line, caption: { words: ["ran"] }, tensors: { t0: null } })).toEqual([]);
  });
});

describe("visible steps", () => {
  const timeline = new Timeline(recording);

  it("leave sub-steps out until they are asked for", () => {
    expect(timeline.visible(none)).toEqual([0, 1, 2, 3, 4, 7, 9, 10, 11]);
    expect(timeline.visible(new Set([7]))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11]);
    expect(timeline.visible("all")).toHaveLength(VIEWS.length);
    expect(timeline.visible(new Set([7]))).toBe(timeline.visible(new Set([7])));
  });

  it("have the numbers that Python gives them, and one count whatever is opened", () => {
    expect(VIEWS.map((_, index) => timeline.nameOf(index))).toEqual(
      "0 1 2 3 4 5.1 5.2 5 6.1 6 7 8".split(" "),
    );
    expect(timeline.count).toBe(8);
    expect(["5.2", "8", "9", "5.3"].map((name) => timeline.placeOf(name))).toEqual([
      6,
      11,
      undefined,
      undefined,
    ]);
  });

  it("have sub-steps inside", () => {
    expect(timeline.inside(7)).toEqual([5, 6]);
    expect(timeline.inside(11)).toEqual([]);
  });

  it("nest: what is inside a sub-step is hidden until both are opened", () => {
    // Line 1 calls f, which calls g: two lines of g, then two of f.
    const numbers = [[0], [1, 1, 1], [1, 1, 2], [1, 1], [1, 2], [1], [2]];
    const views = numbers.map((number) => ({ ...(VIEWS[1] as StepView), number }));
    const nested = new Timeline({ ...recording, views });
    expect(nested.visible(none)).toEqual([0, 5, 6]);
    expect(nested.visible(new Set([3]))).toEqual([0, 5, 6]);
    expect(nested.visible(new Set([5]))).toEqual([0, 3, 4, 5, 6]);
    expect(nested.visible(new Set([3, 5]))).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(nested.containersOf(2)).toEqual([3, 5]);
    expect(nested.count).toBe(2);
  });

  it("are found by the line that ran, or runs; hidden ones where no other has the line", () => {
    const coarse = timeline.visible(none);
    expect(timeline.stepsOf("line:0:3", coarse)).toEqual([3]);
    expect(timeline.stepsOf("line:0:4", coarse)).toEqual([11]);
    const cut = new Timeline({ ...recording, views: VIEWS.slice(0, 8) });
    expect(cut.stepsOf("line:0:4", cut.visible(none))).toEqual([4, 7]);
    const inside = { ...(VIEWS[1] as StepView), number: [1, 1], line: 9 };
    const calling = new Timeline({
      ...recording,
      views: [VIEWS[0], inside, VIEWS[1]] as StepView[],
    });
    expect(calling.stepsOf("line:0:9", calling.visible(none))).toEqual([1]);
    expect(calling.stepsOf("line:0:8", calling.visible(none))).toEqual([]);
  });

  it("know the turns of the loops around them, the outer ones first", () => {
    const turn = { code: 0, line: 1, number: 1, count: 2, level: 0, first: 1, last: 7, times: 1 };
    const inner = { ...turn, line: 2, number: 2, count: 3, level: 1, first: 3, last: 4 };
    const turning = new Timeline({ ...recording, turns: [inner, turn] });
    expect(turning.turnsAt(3)).toEqual([turn, inner]);
    expect(turning.turnsAt(7)).toEqual([turn]);
    expect(turning.turnsAt(8)).toEqual([]);
  });
});

describe("what is highlighted together", () => {
  const timeline = new Timeline(recording);
  it.each([
    ["", []],
    ["line:0:3", ["line:0:3", "n0", "t2"]],
    ["n0", ["line:0:3", "n0"]],
    ["t0", ["line:0:1", "n1", "t0"]],
    ["n2", ["line:0:2", "n2", "t1"]],
  ])("%j: %j", (lit, ids) => {
    expect([...relatedTo(timeline, lit)].sort()).toEqual(ids);
  });
});

describe("the document of a recording", () => {
  it("is accepted as it is", () => {
    expect(parseDocument(recording)).toBe(recording);
  });

  const view = VIEWS[0];
  it.each([
    [{ views: [] }, '"views"'],
    [{ views: [{ ...view, at: { full: { "gv-n0": "1" } } }] }, '"views"'],
    [{ views: [{ ...view, number: [] }] }, '"views"'],
    [{ turns: [{ line: 1 }] }, '"turns"'],
    [{ views: [{ ...view, caption: { words: [{ id: "n0" }] } }] }, '"views"'],
    [{ views: [{ ...view, items: { n0: { id: "n0" } } }] }, '"views"'],
    [{ codes: [{ name: "cell", first: 1 }] }, '"codes"'],
    [{ pictures: { full: { svg: "", elements: { "gv-n0": "" } } } }, '"pictures"'],
    [{ pictures: { full: { svg: "", elements: { "gv-n0": [["a"]] } } } }, '"pictures"'],
    [{ pictures: { full: "" } }, '"pictures"'],
    [{ pieces: [1] }, '"pieces"'],
    [{ links: {} }, '"links"'],
    [{ links: { lines: {} } }, '"links"'],
    [{ tensor_columns: [1] }, '"tensor_columns"'],
  ])("is refused when damaged: %j", (damage, message) => {
    expect(() => parseDocument({ ...recording, ...damage })).toThrow(message);
  });
});
