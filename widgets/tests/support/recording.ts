// A small recording, written by hand: two leaves, a product, its backward.

import { type ByDensity, DENSITIES, type Item } from "../../src/documents/graph";
import type { RecordingDocument, StepView } from "../../src/documents/recording";
import { wordsOf } from "../../src/documents/sentence";

const STYLE =
  "text{font:12px monospace}rect{fill:#fff;stroke:#667}.gv-freed>rect{stroke-dasharray:4 3}" +
  ".gv-now>rect{stroke-width:3}.gv-edge>path{fill:none;stroke:#667}";

const card = (id: string, css: string, x: number, y: number, lines: string[], tensor = "") => {
  const data = tensor ? ` data-tensor="${tensor}"` : "";
  const texts = lines.map((line, i) => `<text x="10" y="${20 + 16 * i}">${line}</text>`);
  return (
    `<g class="${css}" id="gv-${id}" data-id="${id}"${data} role="img" aria-label="${lines.join(", ")}" ` +
    `transform="translate(${x} ${y})"><title>${lines.join("\n")}</title>` +
    `<rect width="150" height="70" rx="6"/>${texts.join("")}</g>`
  );
};
const mul = (state: string, css = "") =>
  card("n0", `gv-node ${css}`.trim(), 110, 150, ["MulBackward0", `self = a ${state}`]);
const leaf = (id: string, tensor: string, x: number, grad: string, css = "gv-leaf") =>
  card(id, `gv-node ${css}`, x, 20, [tensor === "t0" ? "a" : "b", `.grad ${grad}`], tensor);
const edge = (slot: number, x: number, css = "gv-edge") =>
  `<g class="${css}" id="gv-n0.${slot}" data-source="n0" data-target="n${slot + 1}" ` +
  `data-slot="${slot}" aria-hidden="true"><path d="M${x},90L185,150"/></g>`;

const ELEMENTS = {
  "gv-n0": ["", mul("@v0", "gv-holds"), mul("@v0", "gv-holds gv-now"), mul("freed", "gv-freed")],
  "gv-n1": ["", leaf("n1", "t0", 20, "None"), leaf("n1", "t0", 20, "3")],
  "gv-n2": ["", leaf("n2", "t1", 200, "None"), leaf("n2", "t1", 200, "2")],
  "gv-n0.0": ["", edge(0, 95), edge(0, 95, "gv-edge gv-flow")],
  "gv-n0.1": ["", edge(1, 275), edge(1, 275, "gv-edge gv-flow")],
};

const itemOf = (id: string, label: string, fact: string): Item => ({
  id,
  kind: id.startsWith("t") ? "tensor" : id === "n0" ? "node" : "leaf",
  label,
  aria: `${label}, ${fact}`,
  find: `${id} ${label}`.toLowerCase(),
  next: id === "n0" ? ["n1", "n2"] : [],
  prev: id === "n1" || id === "n2" ? ["n0"] : [],
  details: [{ heading: label, rows: [["state", fact]] }],
});

const tensor = (name: string, leaf: boolean, version: number, grad: string) => [
  name,
  leaf ? "True" : "False",
  "True",
  "False",
  String(version),
  grad,
];

const base: StepView = {
  kind: "line",
  number: [0],
  level: 0,
  line: 1,
  code: 0,
  next_line: null,
  node: null,
  caption: { words: [] },
  tick: "",
  phase: "forward",
  at: {},
  saved: 0,
  memory: null,
  backward: null,
  items: {},
  tensors: {},
  rows: {},
  summary: "",
};
/** The same in every density. */
export const inAll = <T>(one: T): ByDensity<T> =>
  Object.fromEntries(DENSITIES.map((density) => [density, one]));
type Given = Partial<Omit<StepView, "at">> & { readonly at?: Readonly<Record<string, number>> };
const view = ({ at = {}, ...given }: Given): StepView => {
  const summary = wordsOf(given.caption?.words ?? []);
  return { ...base, summary, ...given, at: inAll(at) };
};
const inside = { line: 4, next_line: null, backward: 1 };

const PLAIN: StepView[] = [
  view({
    kind: "start",
    line: null,
    next_line: 1,
    caption: { words: ["Before the code runs."] },
    at: Object.fromEntries(Object.keys(ELEMENTS).map((key) => [key, 0])),
  }),
  view({
    line: 1,
    next_line: 2,
    caption: {
      words: [{ id: "line:0:1", text: "line 1" }, " made the leaf ", { id: "t0", text: "a" }, "."],
    },
    tensors: { t0: tensor("a", true, 0, "None") },
    items: { n1: itemOf("n1", "a", "leaf, .grad None") },
    rows: { n1: ["n1", "a", "leaf"] },
    at: { "gv-n1": 1 },
  }),
  view({
    line: 2,
    next_line: 3,
    caption: {
      words: [{ id: "line:0:2", text: "line 2" }, " made the leaf ", { id: "t1", text: "b" }, "."],
    },
    tensors: { t1: tensor("b", true, 0, "None") },
    items: { n2: itemOf("n2", "b", "leaf, .grad None") },
    rows: { n2: ["n2", "b", "leaf"] },
    at: { "gv-n2": 1 },
  }),
  view({
    line: 3,
    next_line: 4,
    caption: {
      words: [{ id: "n0", text: "MulBackward0" }, " saves ", { id: "t0", text: "a" }, " and b."],
    },
    tensors: { t2: tensor("out", false, 0, "None") },
    items: { n0: itemOf("n0", "MulBackward0", "holds a @v0") },
    rows: { n0: ["n0", "MulBackward0", "node"] },
    saved: 8,
    memory: 12,
    at: { "gv-n0": 1, "gv-n0.0": 1, "gv-n0.1": 1 },
  }),
  view({
    ...inside,
    kind: "backward",
    level: 1,
    phase: "backward",
    caption: { words: ["backward starts at ", { id: "n0", text: "MulBackward0" }, "."] },
    saved: 8,
  }),
  view({
    ...inside,
    kind: "saved",
    phase: "backward",
    level: 2,
    node: "n0",
    caption: { words: [{ id: "n0", text: "MulBackward0" }, " reads saved a."] },
    at: { "gv-n0": 2 },
    saved: 8,
  }),
  view({
    ...inside,
    kind: "freed",
    phase: "backward",
    level: 2,
    node: "n0",
    caption: { words: [{ id: "n0", text: "MulBackward0" }, " has freed what it saved."] },
    at: { "gv-n0": 3 },
    items: { n0: itemOf("n0", "MulBackward0", "freed") },
    rows: { n0: ["n0", "MulBackward0", "node, freed"] },
  }),
  view({
    ...inside,
    kind: "node",
    phase: "backward",
    level: 1,
    node: "n0",
    caption: {
      words: [{ id: "n0", text: "MulBackward0" }, " sent 3 to ", { id: "t0", text: "a" }, "."],
    },
    at: { "gv-n0.0": 2, "gv-n0.1": 2 },
  }),
  view({
    ...inside,
    kind: "accumulate",
    phase: "backward",
    level: 2,
    node: "n1",
    caption: { words: [{ id: "n1", text: "a" }, ".grad became 3."] },
    tensors: { t0: tensor("a", true, 0, "3") },
    items: { n1: itemOf("n1", "a", "leaf, .grad 3") },
    at: { "gv-n1": 2 },
  }),
  view({
    ...inside,
    kind: "node",
    phase: "backward",
    level: 1,
    node: "n1",
    caption: { words: ["3 was added to ", { id: "t0", text: "a" }, ".grad."] },
    at: { "gv-n0.0": 1 },
  }),
  view({
    ...inside,
    kind: "node",
    phase: "backward",
    level: 1,
    node: "n2",
    caption: { words: ["2 was added to ", { id: "t1", text: "b" }, ".grad."] },
    tensors: { t1: tensor("b", true, 0, "2") },
    items: { n2: itemOf("n2", "b", "leaf, .grad 2") },
    at: { "gv-n0.1": 1, "gv-n2": 2 },
  }),
  view({
    line: 4,
    caption: { words: [{ id: "line:0:4", text: "line 4" }, " has run; out is gone."] },
    tensors: { t2: null },
    items: { n0: null },
    rows: { n0: null },
    at: { "gv-n0": 0, "gv-n0.0": 0, "gv-n0.1": 0 },
  }),
];

/** What a person calls the steps: sub-steps come before the step that they are inside of. */
const NUMBERS = [[0], [1], [2], [3], [4], [5, 1], [5, 2], [5], [6, 1], [6], [7], [8]];
export const VIEWS: StepView[] = PLAIN.map((one, i) => ({ ...one, number: NUMBERS[i] ?? [] }));

const empty = Object.keys(ELEMENTS).map((key) => `<g id="${key}" class="gv-absent"></g>`);

const pieces = [...new Set(Object.values(ELEMENTS).flat())].filter(Boolean);
const elements = Object.fromEntries(
  Object.entries(ELEMENTS).map(([key, looks]) => [
    key,
    looks.map((look) => (look ? [pieces.indexOf(look)] : [])),
  ]),
);

export const recording: RecordingDocument = {
  format: 1,
  kind: "recording",
  title: "recording of cell",
  summary: "recording of cell: 8 steps, 3 sub-steps, 1 backward",
  text: "recording of cell\n",
  density: "normal",
  pictures: inAll({
    svg:
      '<svg xmlns="http://www.w3.org/2000/svg" class="gradviz-svg" viewBox="0 0 370 240" ' +
      `width="370" height="240" role="group" aria-label="recording"><style>${STYLE}</style>` +
      `${empty.join("")}</svg>`,
    elements,
  }),
  pieces,
  open: 0,
  stops: [3],
  turns: [],
  codes: [
    {
      name: "cell",
      first: 1,
      lines: [
        "a = torch.tensor(2.0, requires_grad=True)",
        "b = torch.tensor(3.0, requires_grad=True)",
        "out = a * b  # the product",
        "out.backward()",
      ],
    },
  ],
  views: VIEWS,
  tensor_columns: ["name", "is_leaf", "requires_grad", "retains_grad", "version", ".grad"],
  outline_columns: ["id", "name", "kind"],
  legend: [{ class: "gv-leaf", label: "leaf" }],
  links: {
    lines: { "0:1": ["n1", "t0"], "0:2": ["n2", "t1"], "0:3": ["n0", "t2"] },
    leaves: { n1: ["t0"], n2: ["t1"] },
  },
};

/** The document of a recording of which only these steps have come, by their places. */
export function partOf(all: RecordingDocument, places: readonly number[]): RecordingDocument {
  const views = places.map((place, i): StepView => {
    const since = all.views.slice(i ? (places[i - 1] as number) + 1 : 0, place + 1);
    const merged = (part: "items" | "tensors" | "rows") =>
      Object.assign({}, ...since.map((one) => one[part]));
    const at = DENSITIES.map((one) => [one, Object.assign({}, ...since.map(({ at }) => at[one]))]);
    return {
      ...(all.views[place] as StepView),
      ...{ items: merged("items"), tensors: merged("tensors"), rows: merged("rows") },
      at: Object.fromEntries(at),
    };
  });
  const last = all.views.findLast(({ number }) => number.length === 1)?.number[0] ?? 0;
  return {
    ...all,
    ...{ views, of: { steps: all.views.length, last }, turns: [], runs: [] },
    open: Math.max(0, places.indexOf(all.open)),
    stops: all.stops.flatMap((stop) => (places.includes(stop) ? [places.indexOf(stop)] : [])),
  };
}
