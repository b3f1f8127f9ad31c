// @vitest-environment node
import { describe, expect, it } from "vitest";
import type { Item } from "../../src/documents/graph";
import type { Box } from "../../src/graph/camera";
import { flowOf, moveOf, neighbour } from "../../src/graph/navigation";

const item = (id: string, next: string[], prev: string[]): Item => ({
  id,
  kind: "node",
  label: id,
  aria: id,
  find: id,
  next,
  prev,
  details: [],
});
const box = (x: number, y: number): Box => ({ x, y, width: 10, height: 10 });

// a and b feed sum; sum is the root at the bottom.
const items = [item("sum", ["a", "b"], []), item("a", [], ["sum"]), item("b", [], ["sum"])];
const [sum, a] = items as [Item, Item];
const boxes = new Map([
  ["sum", box(50, 100)],
  ["a", box(0, 0)],
  ["b", box(100, 0)],
  ["x", box(200, 0)],
]);

describe("arrow keys", () => {
  it("see where data flows from the positions alone", () => {
    expect(flowOf(items, boxes)).toBe("down");
    const turned = new Map([...boxes].map(([id, { x, y }]) => [id, box(y, x)] as const));
    expect(flowOf(items, turned)).toBe("right");
  });

  it("see it past what is in the column beside a box", () => {
    const beside = [item("sum", ["a", "w"], []), item("a", [], ["sum"]), item("w", [], ["sum"])];
    const placed = new Map([
      ["sum", box(0, 20)],
      ["a", box(0, 0)],
      ["w", box(300, 22)],
    ]);
    expect(flowOf(beside, placed)).toBe("down");
    expect(neighbour(beside[0] as Item, "after", "down", placed, [])).toBe("w");
  });

  it("go against the data towards the inputs and with it to the consumers", () => {
    expect(moveOf("ArrowUp", "down")).toBe("next");
    expect(moveOf("ArrowDown", "down")).toBe("prev");
    expect(moveOf("ArrowLeft", "right")).toBe("next");
    expect(moveOf("ArrowRight", "right")).toBe("prev");
    expect(moveOf("a", "down")).toBeUndefined();
  });

  it("follow next_functions in torch's order", () => {
    expect(neighbour(sum, "next", "down", boxes, [])).toBe("a");
  });

  it("go back the way one came", () => {
    expect(neighbour(sum, "next", "down", boxes, ["a", "b"])).toBe("b");
  });

  it("reach the neighbour on the side, also one without an edge", () => {
    expect(neighbour(a, "after", "down", boxes, [])).toBe("b");
    expect(neighbour(item("b", [], []), "after", "down", boxes, [])).toBe("x");
    expect(neighbour(a, "before", "down", boxes, [])).toBeUndefined();
  });

  it("stop at the ends", () => {
    expect(neighbour(a, "next", "down", boxes, [])).toBeUndefined();
    expect(neighbour(sum, "prev", "down", boxes, [])).toBeUndefined();
  });
});
