import { describe, expect, it } from "vitest";
import type { Item } from "../../src/documents/graph";
import { SvgIndex } from "../../src/graph/svg_index";

const item = (id: string): Item => ({ id, kind: "node", label: id, next: [], prev: [] }) as never;

describe("a leaf with references", () => {
  const holder = document.createElement("div");
  holder.innerHTML = `<svg>
    <g role="img" data-id="n0" data-tensor="t0"/><g role="img" data-id="n1"/>
    <g role="img" class="gv-ref" data-id="n0" data-tensor="t0"/></svg>`;
  const svg = holder.querySelector("svg") as SVGSVGElement;
  const index = new SvgIndex();
  index.read(svg, [item("n0"), item("n1")]);
  const [card, , reference] = svg.children;

  it("is one item, which takes the focus on its card", () => {
    expect([...index.cards.keys()]).toEqual(["n0", "n1"]);
    expect(index.cards.get("n0")).toBe(card);
    expect(reference?.hasAttribute("tabindex")).toBe(false);
  });

  it("is highlighted everywhere, by the id of its node and of its tensor", () => {
    for (const id of ["n0", "t0"]) {
      index.highlight("is-lit", [id]);
      expect([...svg.querySelectorAll(".is-lit")]).toEqual([card, reference]);
    }
  });

  it("is what a reference belongs to", () => {
    expect(index.at(reference as Element)).toBe("n0");
  });
});
