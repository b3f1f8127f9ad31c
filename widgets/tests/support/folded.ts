// A folded graph as the document has it: a model of two blocks, the second of which has an inside that
// only the kernel knows.
//
//   f0: n9 (leaf) -> f1 (model) -> n0 (loss)
//   f1: f2 (h.0) -> f3 (h.1); f2: n3 -> n2; f3: n1

import type {
  Fold,
  Folding,
  Inside,
  InsideCard,
  InsideLink,
  LinkEnd,
} from "../../src/documents/folds";
import type { GraphDocument, Item } from "../../src/documents/graph";

const SIZE = { width: 100, height: 50 };

const card = (id: string, x: number, y: number): InsideCard => {
  const css = id.startsWith("f") ? "gv-node gv-fold" : "gv-node";
  const sign = id.startsWith("f") ? '<path class="gv-fold-sign" d="M10,8.5h9v9h-9z"/>' : "";
  const markup =
    `<g class="${css}" id="gv-${id}" data-id="${id}" role="img" aria-label="${id}" transform="translate(0 0)">` +
    `<rect class="gv-card" width="100" height="50"/>${sign}<text x="10" y="20">${id}</text></g>`;
  return { id, x, y, ...SIZE, markup };
};

const link = (
  id: string,
  [tail, head]: readonly [LinkEnd, LinkEnd],
  [source, target]: readonly [string, string],
  [y, to]: readonly [number, number],
): InsideLink => ({
  points: [
    [70, y],
    [70, y + 5],
    [70, to - 5],
    [70, to],
  ],
  ...{ tail, head, id, source, target, slot: null, count: 1, is_edge: true },
  ...{ tail_reach: [0, 0], head_reach: [0, 0] },
});

const inside = (
  fold: string,
  cards: readonly string[],
  ways: { readonly in?: string; readonly out?: string },
): Inside => {
  const placed = cards.map((id, i) => card(id, 20, 20 + 80 * i));
  const height = 20 + 80 * cards.length;
  const links = cards.slice(1).map((id, i) =>
    link(
      `${fold}.${id}`,
      [
        [cards[i] as string, 0],
        [id, 0],
      ],
      [id, cards[i] as string],
      [70 + 80 * i, 100 + 80 * i],
    ),
  );
  const [first = "", last = ""] = [cards[0], cards.at(-1)];
  if (ways.in)
    links.unshift(
      link(
        `${fold}.in`,
        [
          ["", 0],
          [first, 0],
        ],
        [first, ways.in],
        [0, 20],
      ),
    );
  if (ways.out)
    links.push(
      link(
        `${fold}.out`,
        [
          [last, 0],
          ["", 0],
        ],
        ["", last],
        [height - 30, height],
      ),
    );
  return {
    ...{ width: 140, height, cards: placed, links },
    ...{ inputs: ways.in ? [70] : [], outputs: ways.out ? [70] : [] },
    header: `<path class="gv-fold-sign" d="M10,10.5h9v9h-9z"/><text x="23" y="19.5">${fold}</text>`,
  };
};

/** What the kernel knows. */
export const lateInside = inside("f3", ["n1"], { in: "n2", out: "n1" });

export const modelInsides = {
  "": inside("", ["f0"], {}),
  f0: inside("f0", ["n9", "f1", "n0"], {}),
  f1: inside("f1", ["f2", "f3"], { in: "n9", out: "f3" }),
  f2: inside("f2", ["n3", "n2"], { in: "n9", out: "n2" }),
} as const;

const fold = (id: string, above: string, path: string, label: string, nodes: number): Fold => ({
  ...{ id, above, kind: above ? "module" : "graph", path, label, words: [`${nodes} nodes`], nodes },
  ...{ members: id === "f3" ? 1 : id === "f0" ? 3 : 2, has_inside: id !== "f3" },
});

export const folding: Folding = {
  opened: ["f0"],
  direction: "TB",
  folds: [
    fold("f0", "", "", "graph of loss", 5),
    fold("f1", "f0", "model", "model · Net", 3),
    fold("f2", "f1", "model.h.0", "h.0 · Block", 2),
    fold("f3", "f1", "model.h.1", "h.1 · Block", 1),
  ],
  insides: { normal: modelInsides },
  limit: "needs a kernel: this document has only some of the folds",
  note: "",
};

const item = (
  id: string,
  above: string,
  next: readonly string[],
  prev: readonly string[],
): Item => ({
  ...{ id, label: `${id} label`, aria: `${id} said`, find: `${id} ${above ? "deep" : ""}` },
  kind: id.startsWith("f") ? "fold" : id === "n9" ? "leaf" : "node",
  ...{ next, prev, fold: above },
  details: [{ heading: `${id} label`, rows: [["id", id]] }],
});

export const items: readonly Item[] = [
  item("n0", "f0", ["n1"], []),
  item("n1", "f3", ["n2"], ["n0"]),
  item("n2", "f2", ["n3"], ["n1"]),
  item("n3", "f2", ["n9"], ["n2"]),
  item("n9", "f0", [], ["n3"]),
  ...folding.folds.map(({ id, above }) => item(id, above, [], [])),
];

export const foldedWire: GraphDocument = {
  format: 1,
  title: "graph of loss",
  density: "normal",
  legend: [],
  text: "graph of loss",
  summary: "graph of loss: 5 nodes",
  items,
  outline: {
    columns: ["id"],
    rows: items.filter(({ kind }) => kind !== "fold").map(({ id }) => ({ id, cells: [id] })),
  },
  pictures: {
    normal:
      '<svg xmlns="http://www.w3.org/2000/svg" class="gradviz-svg" viewBox="0 0 1 1" role="group">' +
      "<style>.gv-node{fill:none}</style></svg>",
  },
  fold: folding,
};
