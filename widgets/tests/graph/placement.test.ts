// @vitest-environment node
import { describe, expect, it } from "vitest";
import type { Box } from "../../src/graph/camera";
import { GAP, lineBetween, placeBeside, type Surroundings } from "../../src/graph/placement";

const box = (x: number, y: number, width: number, height: number): Box => ({ x, y, width, height });
const window = box(0, 0, 1000, 560);
const own = box(400, 250, 200, 30);
const size = { width: 280, height: 180 };
const place = (given: Partial<Surroundings> = {}) =>
  placeBeside(size, { own, keep: [], others: [], edges: [], window, ...given });
const apart = (a: Box, b: Box) =>
  a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;

describe("the place of what is laid beside a card", () => {
  it("is to the right where nothing is in the way", () => {
    expect(place().x).toBe(own.x + own.width + GAP);
  });

  it("is to the left where the window ends at the right", () => {
    const found = place({ window: box(0, 160, 700, 220) });
    expect(found.x + found.width).toBe(own.x - GAP);
  });

  it("is below or above where both sides are too narrow", () => {
    const narrow = { window: box(380, 0, 300, 560) };
    expect(place(narrow).y).toBe(own.y + own.height + GAP);
    const low = place({ ...narrow, window: box(380, -300, 300, 600) });
    expect(low.y + low.height).toBe(own.y - GAP);
  });

  it.each([
    [[box(620, 200, 200, 200)]],
    [[box(620, 200, 200, 60), box(150, 200, 200, 60), box(400, 60, 200, 60)]],
    [[box(400, 320, 200, 30), box(620, 250, 90, 30), box(400, 180, 200, 30)]],
  ])("hides no card that is joined to it, %#", (keep) => {
    const found = place({ keep });
    for (const one of [...keep, own]) expect(apart(found, one)).toBe(true);
    expect(found.x).toBeGreaterThanOrEqual(0);
    expect(found.y).toBeGreaterThanOrEqual(0);
    expect(found.x + found.width).toBeLessThanOrEqual(window.width);
    expect(found.y + found.height).toBeLessThanOrEqual(window.height);
  });

  it("leaves its own edges free rather than other cards", () => {
    const edges = Array.from({ length: 40 }, (_, i) => ({ x: 620 + 5 * i, y: 265 }));
    const found = place({ edges, others: [box(300, 330, 60, 20)] });
    const holds = edges.filter(
      ({ x, y }) =>
        x >= found.x && x <= found.x + found.width && y >= found.y && y <= found.y + found.height,
    );
    expect(holds).toEqual([]);
  });

  it("is in the window where that has room for it, whatever it hides", () => {
    const found = place({ window: box(380, 200, 300, 190) });
    expect(found.y).toBeGreaterThanOrEqual(200);
    expect(found.y + found.height).toBeLessThanOrEqual(390);
  });

  it("hides nothing that must stay visible where any place in the window hides nothing", () => {
    let seed = 1;
    const random = (most: number) => {
      seed = (seed * 48271) % 2147483647;
      return Math.round((seed / 2147483647) * most);
    };
    let possible = 0;
    for (let round = 0; round < 150; round += 1) {
      const room = box(0, 0, 340 + random(700), 250 + random(400));
      const middle = box(random(room.width - 150), random(room.height - 30), 150, 30);
      const keep = Array.from({ length: 2 + random(5) }, () =>
        box(random(room.width), random(room.height), 60 + random(160), 15 + random(40)),
      ).filter((one) => apart(one, middle));
      const found = placeBeside(size, {
        own: middle,
        keep,
        others: [],
        edges: [],
        window: room,
      });
      const isFree = (one: Box) => [middle, ...keep].every((other) => apart(one, other));
      // With a little room around it, as it is placed.
      const wide = { width: size.width + 8, height: size.height + 8 };
      let any = false;
      for (let x = 0; x + wide.width <= room.width && !any; x += 2)
        for (let y = 0; y + wide.height <= room.height && !any; y += 2)
          any = isFree(box(x, y, wide.width, wide.height)) && !any;
      if (!any) continue;
      possible += 1;
      expect(isFree(found)).toBe(true);
    }
    expect(possible).toBeGreaterThan(30);
  });
});

describe("the line from what is unfolded to its card", () => {
  it("is the shortest one, from rim to rim", () => {
    expect(lineBetween(box(0, 0, 160, 40), box(0, 100, 160, 30), [])).toEqual([
      expect.objectContaining({ y: 40 }),
      expect.objectContaining({ y: 100 }),
    ]);
  });

  it("passes beside a card that is between them, where it can", () => {
    const line = lineBetween(box(0, 0, 160, 40), box(0, 200, 160, 30), [box(-20, 80, 140, 30)]);
    expect(line?.map(({ x }) => x).every((x) => x > 110)).toBe(true);
  });

  it("is not there where they touch", () => {
    expect(lineBetween(box(0, 0, 160, 40), box(100, 20, 160, 30), [])).toBeUndefined();
  });
});
