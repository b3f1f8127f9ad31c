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

describe("a box of several nodes", () => {
  const holder = document.createElement("div");
  holder.innerHTML = `<svg>
    <g role="img" data-id="n0" data-others="n1 n2"/><g role="img" data-id="n3"/></svg>`;
  const svg = holder.querySelector("svg") as SVGSVGElement;
  const index = new SvgIndex();
  const joined = (id: string, next: string[], prev: string[]) => ({ ...item(id), next, prev });
  index.read(svg, [
    joined("n0", ["n1"], []),
    joined("n1", ["n2"], ["n0"]),
    joined("n2", ["n3"], ["n1"]),
    joined("n3", [], ["n2"]),
  ]);
  const [box] = svg.children;

  it("takes the focus once, and is the card of each of them", () => {
    expect([...index.cards.keys()]).toEqual(["n0", "n3"]);
    for (const id of ["n0", "n1", "n2"]) {
      expect(index.ownerOf(id)).toBe(box);
      expect(index.cardOf(id)).toBe("n0");
      index.highlight("is-lit", [id]);
      expect([...svg.querySelectorAll(".is-lit")]).toEqual([box]);
    }
  });

  it("is that of several leaves, by the ids of their nodes and of their tensors", () => {
    const leaves = document.createElement("div");
    const own = `data-id="n4" data-tensor="t0 t1" data-others="n5"`;
    leaves.innerHTML = `<svg><g role="img" ${own}/></svg>`;
    const of = new SvgIndex();
    of.read(leaves, [item("n4"), item("n5")]);
    for (const id of ["n4", "n5", "t0", "t1"]) {
      of.highlight("is-lit", [id]);
      expect(leaves.querySelectorAll(".is-lit")).toHaveLength(1);
    }
    expect(of.cardOf("n5")).toBe("n4");
  });

  it("is joined to what any of them is joined to", () => {
    expect(index.item("n0")).toMatchObject({ next: ["n3"], prev: [] });
    expect(index.item("n3")).toMatchObject({ next: [], prev: ["n0"] });
    expect(index.item("n1")).toMatchObject({ next: ["n2"], prev: ["n0"] });
  });
});
