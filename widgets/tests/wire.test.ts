/// <reference types="vite/client" />
import { describe, expect, it } from "vitest";
import { parsePicture } from "../src/picture";
import { parseWire, type Wire } from "../src/wire";
import { wire } from "./model";

// The files that Python compares its own output with: neither side can move alone.
const golden = import.meta.glob<{ default: unknown }>("../../tests/golden/wire/*.json");

describe("wire", () => {
  it("accepts what it describes", () => {
    expect(parseWire(wire)).toBe(wire);
  });

  it.each(Object.entries(golden))("accepts %s and finds what it refers to", async (_, load) => {
    const read = parseWire((await load()).default) as Wire;
    const ids = new Set(read.items.map(({ id }) => id));
    for (const item of read.items) {
      for (const id of [...item.next, ...item.prev]) expect(ids).toContain(id);
      expect(item.find).toBe(item.find.toLowerCase());
    }
    for (const row of read.outline.rows) {
      expect(row.cells).toHaveLength(read.outline.columns.length);
    }
    const { svg } = parsePicture(read.svg, "v");
    expect(svg.querySelector("style")?.textContent).toContain(".gradviz-root{");
    expect(svg.querySelectorAll("[data-id]").length).toBeGreaterThan(0);
  });

  it.each([
    [undefined, "no graph to show yet"],
    [{}, "no graph to show yet"],
    [{ ...wire, format: 2 }, "format 2"],
    [{ ...wire, items: [{ id: "n0" }] }, '"items"'],
    [{ ...wire, outline: { columns: [1], rows: [] } }, '"outline"'],
    [{ ...wire, svg: 3 }, '"svg"'],
  ])("refuses a damaged one and says what is damaged", (value, message) => {
    expect(() => parseWire(value)).toThrow(message);
  });
});
