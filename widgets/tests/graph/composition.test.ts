/// <reference types="vite/client" />
import { describe, expect, it } from "vitest";
import type { Inside, InsideLink, Insides, Pair } from "../../src/documents/folds";
import {
  type Composition,
  compose,
  type Frame,
  HEADER,
  type PlacedCard,
} from "../../src/graph/composition";
import { Stretch } from "../../src/graph/stretch";
import { modelInsides } from "../support/folded";

interface Vectors {
  readonly direction: "TB" | "LR";
  readonly insides: Insides;
  readonly pictures: Readonly<Record<string, Picture>>;
}

interface Picture {
  readonly root: string;
  readonly opened: readonly string[];
  readonly expected: {
    readonly width: number;
    readonly height: number;
    readonly inputs: readonly number[];
    readonly outputs: readonly number[];
    readonly cards: readonly { id: string; x: number; y: number }[];
    readonly frames: readonly Omit<Frame, "kind" | "level">[];
    readonly links: readonly { id: string; points: readonly Pair[] }[];
  };
}

// What gradviz/view/graph/composition.py made of the same insides.
const files = import.meta.glob<Vectors>("../../../tests/golden/composition/*.json", {
  ...{ eager: true, import: "default" },
});
const vectors = Object.values(files).flatMap(({ direction, insides, pictures }) =>
  Object.entries(pictures).map(([name, picture]) => ({ name, direction, insides, ...picture })),
);

const cardsOf = ({ parts }: Composition) =>
  parts.filter((part): part is PlacedCard => part.kind === "card");
const framesOf = ({ parts }: Composition) =>
  parts.filter((part): part is Frame => part.kind === "frame");
const linksOf = ({ parts }: Composition) => parts.filter((part) => part.kind === "link");

describe("composition as Python makes it", () => {
  it("of two directions", () => {
    expect(vectors.map(({ direction }) => direction)).toContain("TB");
    expect(vectors.map(({ direction }) => direction)).toContain("LR");
  });

  it.each(vectors)("$name $direction", ({ insides, opened, direction, root, expected }) => {
    const made = compose(insides, new Set(opened), direction, root);
    const close = (one: number, other: number) => expect(Math.abs(one - other)).toBeLessThan(0.02);
    close(made.width, expected.width);
    close(made.height, expected.height);
    for (const way of ["inputs", "outputs"] as const) {
      expect(made[way]).toHaveLength(expected[way].length);
      for (const [i, place] of made[way].entries()) close(place, expected[way][i] ?? Number.NaN);
    }
    expect(cardsOf(made).map(({ id }) => id)).toEqual(expected.cards.map(({ id }) => id));
    for (const [i, { x, y }] of cardsOf(made).entries()) {
      close(x, expected.cards[i]?.x ?? Number.NaN);
      close(y, expected.cards[i]?.y ?? Number.NaN);
    }
    expect(framesOf(made).map(({ id }) => id)).toEqual(expected.frames.map(({ id }) => id));
    for (const [i, frame] of framesOf(made).entries()) {
      for (const name of ["x", "y", "width", "height"] as const) {
        close(frame[name], expected.frames[i]?.[name] ?? Number.NaN);
      }
    }
    expect(linksOf(made)).toHaveLength(expected.links.length);
    for (const [i, { points }] of linksOf(made).entries()) {
      const other = expected.links[i]?.points ?? [];
      expect(points).toHaveLength(other.length);
      for (const [j, [x, y]] of points.entries()) {
        close(x, other[j]?.[0] ?? Number.NaN);
        close(y, other[j]?.[1] ?? Number.NaN);
      }
    }
  });
});

/** Numbers that are the same in every run. */
function randomOf(seed: number): () => number {
  let state = seed * 2654435761 + 1;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

/** Insides of a tree of folds: cards in rows that do not overlap, a link from each to a later one. */
function randomInsides(seed: number): { insides: Insides; ids: string[] } {
  const random = randomOf(seed);
  const insides: Record<string, Inside> = {};
  let count = 0;
  const make = (id: string, depth: number): void => {
    const cards: Inside["cards"][number][] = [];
    const below: string[] = [];
    let y = 10;
    let widest = 0;
    const rows = 1 + Math.floor(random() * 4);
    for (let row = 0; row < rows; row += 1) {
      let x = 10 + random() * 40;
      let highest = 0;
      for (let i = 0; i <= Math.floor(random() * 3); i += 1) {
        count += 1;
        const isFold = depth < 3 && random() < 0.4;
        const own = isFold ? `f${count}` : `n${count}`;
        if (isFold) below.push(own);
        const [width, height] = [30 + random() * 90, 20 + random() * 40];
        cards.push({ id: own, x, y: y + random() * 5, width, height, markup: "" });
        x += width + 8 + random() * 30;
        highest = Math.max(highest, height + 5);
      }
      widest = Math.max(widest, x);
      y += highest + 12 + random() * 20;
    }
    const [width, height] = [widest + 10, y + 10];
    const links = cards.slice(1).map((card, i): InsideLink => {
      const tail = cards[Math.floor(random() * (i + 1))] as (typeof cards)[number];
      const [from, to] = [
        [tail.x + tail.width / 2, tail.y + tail.height],
        [card.x + card.width / 2, card.y],
      ] as const;
      const points = [from, [from[0], from[1] + 9], [to[0], to[1] - 9], to] as const;
      const ends = { tail: [tail.id, 0], head: [card.id, 0] } as const;
      const reach = { tail_reach: [0, 0], head_reach: [0, 0] } as const;
      const ids = { id: `${id}.${i}`, source: card.id, target: tail.id, slot: null };
      return { points, ...ends, ...reach, ...ids, count: 1, is_edge: true };
    });
    insides[id] = {
      ...{ width, height, cards, links, header: "" },
      // Along either side.
      ...{ inputs: [Math.min(width, height) / 3], outputs: [Math.min(width, height) / 2] },
    };
    for (const one of below) make(one, depth + 1);
  };
  make("f0", 0);
  return { insides, ids: Object.keys(insides) };
}

const overlap = (one: PlacedCard | Frame, other: PlacedCard | Frame) =>
  Math.min(one.x + one.width, other.x + other.width) - Math.max(one.x, other.x) > 1e-6 &&
  Math.min(one.y + one.height, other.y + other.height) - Math.max(one.y, other.y) > 1e-6;

describe.each(["TB", "LR"] as const)("composition, %s", (direction) => {
  it.each(Array.from({ length: 25 }, (_, seed) => seed))("of random insides, seed %i", (seed) => {
    const { insides, ids } = randomInsides(seed);
    const random = randomOf(seed + 1000);
    const opened = new Set(ids.filter(() => random() < 0.6));
    const made = compose(insides, opened, direction, "f0");
    const [cards, frames] = [cardsOf(made), framesOf(made)];
    for (const [i, card] of cards.entries()) {
      expect(card.x).toBeGreaterThanOrEqual(0);
      expect(card.x + card.width).toBeLessThanOrEqual(made.width + 1e-6);
      expect(card.y + card.height).toBeLessThanOrEqual(made.height + 1e-6);
      for (const other of cards.slice(i + 1)) expect(overlap(card, other)).toBe(false);
    }
    // A frame is around all of its inside, and over nothing else.
    const within = (id: string): string[] =>
      (insides[id]?.cards ?? []).flatMap((card) => [card.id, ...within(card.id)]);
    for (const frame of frames) {
      const own = new Set(within(frame.id));
      for (const other of [...cards, ...frames.filter((one) => one !== frame)]) {
        if (own.has(other.id)) {
          expect(other.y).toBeGreaterThanOrEqual(frame.y + HEADER - 1e-6);
          expect(other.x).toBeGreaterThanOrEqual(frame.x - 1e-6);
        } else if (!within(other.id).includes(frame.id)) expect(overlap(frame, other)).toBe(false);
      }
    }
    // Links end on their boxes.
    const boxes = new Map([...cards, ...frames].map((box) => [box.id, box]));
    for (const { link, points } of linksOf(made)) {
      for (const [end, at] of [
        [link.tail[0], points[0]],
        [link.head[0], points.at(-1)],
      ] as const) {
        const box = boxes.get(end);
        if (!box || !at) throw new Error(`no box for ${end}`);
        expect(at[0]).toBeGreaterThanOrEqual(box.x - 1e-6);
        expect(at[0]).toBeLessThanOrEqual(box.x + box.width + 1e-6);
        expect(at[1]).toBeGreaterThanOrEqual(box.y - 1e-6);
        expect(at[1]).toBeLessThanOrEqual(box.y + box.height + 1e-6);
      }
    }
  });
});

describe("opening and closing", () => {
  it("restores the picture, and keeps the order of what stays", () => {
    const closed = compose(modelInsides, new Set(["f0"]), "TB", "f0");
    const open = compose(modelInsides, new Set(["f0", "f1"]), "TB", "f0");
    expect(compose(modelInsides, new Set(["f0"]), "TB", "f0")).toEqual(closed);
    const order = ({ parts }: Composition) =>
      parts
        .filter((part): part is PlacedCard | Frame => part.kind !== "link")
        .filter(({ id }) => closed.parts.some((part) => part.kind === "card" && part.id === id))
        .sort((one, other) => one.y - other.y)
        .map(({ id }) => id);
    expect(order(open)).toEqual(order(closed));
    expect(framesOf(open).map(({ id }) => id)).toEqual(["f1"]);
  });

  it("leaves a box closed whose inside is not known", () => {
    const { f1: _, ...without } = modelInsides;
    const made = compose(without, new Set(["f0", "f1"]), "TB", "f0");
    expect(framesOf(made)).toEqual([]);
    expect(cardsOf(made).map(({ id }) => id)).toContain("f1");
  });

  it("is of one fold where that is shown alone", () => {
    const made = compose(modelInsides, new Set(["f0", "f1", "f2"]), "TB", "f1");
    expect(framesOf(made).map(({ id }) => id)).toEqual(["f2"]);
    expect(linksOf(made).some(({ begins }) => !begins)).toBe(true);
  });
});

describe("a stretch", () => {
  it("gives each interval its room, and brings nothing nearer", () => {
    const stretch = new Stretch(100, [
      [20, 40, 50],
      [30, 60, 40],
    ]);
    expect([0, 20, 40, 100].map((place) => stretch.at(place))).toEqual([0, 20, 70, 130]);
    for (let place = 0; place < 100; place += 1) {
      expect(stretch.at(place + 1) - stretch.at(place)).toBeGreaterThanOrEqual(1 - 1e-9);
    }
  });
});
