/// <reference types="vite/client" />
import { describe, expect, it } from "vitest";
import cuts from "../../../tests/golden/recording/cuts.json";
import type { GraphDocument } from "../../src/documents/graph";
import { parseDocument } from "../../src/documents/parse";
import type { RecordingDocument, StepPicture } from "../../src/documents/recording";
import { parsePicture } from "../../src/graph/picture";
import { Timeline } from "../../src/model/timeline";
import { wire } from "../support/model";

// The files that Python compares its own output with: neither side can move alone. But for
// cuts.json they have no SVG.
const recorded = import.meta.glob<{ default: unknown }>("../../../tests/golden/recording/*.json");
const golden = import.meta.glob<{ default: unknown }>("../../../tests/golden/wire/*.json");

describe("wire", () => {
  it("accepts what it describes", () => {
    expect(parseDocument(wire)).toBe(wire);
  });

  it.each(Object.entries(golden))("accepts %s and finds what it refers to", async (_, load) => {
    const read = parseDocument((await load()).default) as GraphDocument;
    const ids = new Set(read.items.map(({ id }) => id));
    for (const item of read.items) {
      for (const id of [...item.next, ...item.prev]) expect(ids).toContain(id);
      expect(item.find).toBe(item.find.toLowerCase());
    }
    for (const row of read.outline.rows) {
      expect(row.cells).toHaveLength(read.outline.columns.length);
    }
  });

  it("finds every element of a recording in the picture that Python drew", () => {
    const { pictures } = parseDocument(cuts) as RecordingDocument;
    expect(Object.keys(pictures)).toEqual(["compact", "full"]);
    for (const { svg, elements } of Object.values(pictures)) {
      const drawn = parsePicture(svg, "v").svg;
      expect(drawn.querySelector("style")?.textContent).toContain(".gradviz-root{");
      expect(drawn.querySelectorAll("[data-id]").length).toBeGreaterThan(0);
      for (const key of Object.keys(elements)) {
        expect(drawn.querySelector(`[id="v-${key}"]`), key).not.toBeNull();
      }
    }
  });

  it.each(Object.entries(recorded))(
    "accepts the recording %s, whole at each step",
    async (_, load) => {
      const read = parseDocument((await load()).default) as RecordingDocument;
      const timeline = new Timeline(read);
      const known = new Set(
        read.views.flatMap(({ items, tensors }) => Object.keys({ ...items, ...tensors })),
      );
      read.views.forEach((view, index) => {
        const { at, items, tensors, rows } = timeline.state(index);
        expect([...at.keys()]).toEqual(Object.keys(read.pictures));
        for (const [density, variants] of at) {
          const { elements } = read.pictures[density] as StepPicture;
          expect([...variants.keys()].sort()).toEqual(Object.keys(elements).sort());
          for (const [key, variant] of variants)
            expect(elements[key]).toHaveProperty(String(variant));
        }
        for (const item of items.values()) {
          for (const id of [...item.next, ...item.prev]) expect(items.has(id), id).toBe(true);
        }
        for (const cells of tensors.values())
          expect(cells).toHaveLength(read.tensor_columns.length);
        for (const cells of rows.values()) expect(cells).toHaveLength(read.outline_columns.length);
        const { place = [], words, details = [], ...caption } = view.caption;
        const numbers = (caption.rows ?? []).flatMap(([, ...cells]) => cells.flat());
        for (const part of [...place, ...words, ...numbers, ...details]) {
          if (typeof part === "string" || part.id.startsWith("line:")) continue;
          expect(known, part.id).toContain(part.id);
        }
      });
    },
  );

  it.each([
    [undefined, "no graph to show yet"],
    [{}, "no graph to show yet"],
    [{ ...wire, format: 2 }, "format 2"],
    [{ ...wire, items: [{ id: "n0" }] }, '"items"'],
    [{ ...wire, outline: { columns: [1], rows: [] } }, '"outline"'],
    [{ ...wire, pictures: { normal: 3 } }, '"pictures"'],
    [{ ...wire, pictures: { dense: "" } }, '"pictures"'],
    [{ ...wire, density: "dense" }, '"density"'],
  ])("refuses a damaged one and says what is damaged", (value, message) => {
    expect(() => parseDocument(value)).toThrow(message);
  });
});
