// @vitest-environment node
import { describe, expect, it } from "vitest";
import {
  clamp,
  firstZoom,
  fitZoom,
  follow,
  overflows,
  readableZoom,
  reveal,
  viewOf,
  viewOfAll,
  zoomAt,
} from "../../src/graph/camera";

const view = { width: 424, height: 324 };

describe("camera", () => {
  it("can be read where no text is smaller than 11 pixels", () => {
    expect(readableZoom(12)).toBeCloseTo(11 / 12);
    expect(readableZoom(10)).toBe(1.1);
    expect(readableZoom(0)).toBe(1);
  });

  it("fits a large picture, and enlarges a small one only as far as its words need", () => {
    expect(fitZoom({ width: 832, height: 300 }, view, 0.75)).toBe(0.5);
    expect(fitZoom({ width: 40, height: 30 }, view, 0.75)).toBe(1);
    expect(fitZoom({ width: 40, height: 30 }, view, 1.1)).toBe(1.1);
  });

  it("begins with all of a picture, of its width or of its height, while that can be read", () => {
    expect(firstZoom({ width: 520, height: 300 }, view, 0.75)).toBe(0.8);
    expect(firstZoom({ width: 520, height: 3000 }, view, 0.75)).toBe(0.8);
    expect(firstZoom({ width: 5000, height: 395 }, view, 0.75)).toBe(0.8);
    expect(firstZoom({ width: 5000, height: 100 }, view, 0.75)).toBe(1);
    expect(firstZoom({ width: 600, height: 3000 }, view, 0.75)).toBe(1);
    expect(firstZoom({ width: 400, height: 3000 }, view, 1.1)).toBe(1.1);
  });

  it("shows all of a picture a little smaller rather than a part of it", () => {
    expect(firstZoom({ width: 520, height: 300 }, view, 1)).toBe(0.8);
    expect(firstZoom({ width: 521, height: 300 }, view, 1)).toBe(1);
  });

  it("shows of a large picture what a step is about, with the nearest around it", () => {
    const content = { width: 2000, height: 2000 };
    const at = (x: number, y: number) => ({ x, y, width: 100, height: 60 });
    const middle = ({ x, y, k }: { x: number; y: number; k: number }) => [
      (view.width / 2 - x) / k,
      (view.height / 2 - y) / k,
    ];
    const alone = viewOf(content, view, 1, { card: at(900, 900), around: [] });
    expect(middle(alone)).toEqual([950, 930]);
    const near = viewOf(content, view, 1, { card: at(900, 900), around: [at(900, 1100)] });
    expect(middle(near)).toEqual([950, 1030]);
    const far = viewOf(content, view, 1, { card: at(900, 900), around: [at(900, 1800)] });
    expect(far).toEqual(alone);
    const corner = viewOf(content, view, 1, { card: at(0, 0), around: [] });
    expect(corner).toEqual({ x: 4, y: 4, k: 1 });
  });

  it("shows a whole picture that fits, whatever a step is about", () => {
    const content = { width: 300, height: 200 };
    const card = { x: 0, y: 0, width: 50, height: 50 };
    expect(viewOf(content, view, 1, { card, around: [] })).toEqual({ x: 62, y: 62, k: 1 });
    expect(viewOf(content, view, 1, undefined)).toEqual({ x: 62, y: 62, k: 1 });
  });

  it("gives a usable zoom for a window without a size", () => {
    expect(fitZoom({ width: 800, height: 300 }, { width: 0, height: 0 }, 1)).toBeGreaterThan(0);
  });

  it("centres what fits", () => {
    const camera = clamp({ x: -900, y: 900, k: 1 }, { width: 200, height: 100 }, view);
    expect(camera).toEqual({ x: 112, y: 112, k: 1 });
  });

  it("lets no large picture leave the window", () => {
    const content = { width: 1000, height: 1000 };
    expect(clamp({ x: 500, y: -5000, k: 1 }, content, view)).toEqual({ x: 4, y: -680, k: 1 });
  });

  it("keeps the point under the pointer when it zooms", () => {
    const before = { x: -50, y: 20, k: 1 };
    const after = zoomAt(before, { x: 100, y: 100 }, 2);
    expect((100 - after.x) / after.k).toBeCloseTo(150);
    expect((100 - after.y) / after.k).toBeCloseTo(80);
  });

  it("stays between the smallest and the largest zoom", () => {
    expect(zoomAt({ x: 0, y: 0, k: 1 }, { x: 0, y: 0 }, 1e9).k).toBe(4);
    expect(zoomAt({ x: 0, y: 0, k: 1 }, { x: 0, y: 0 }, 1e-9).k).toBe(0.02);
  });

  it("moves only as far as a box needs", () => {
    const still = { x: 0, y: 0, k: 1 };
    expect(reveal(still, { x: 50, y: 50, width: 50, height: 50 }, view)).toEqual(still);
    const right = reveal(still, { x: 500, y: 50, width: 50, height: 50 }, view);
    expect(right).toEqual({ x: -138, y: 0, k: 1 });
  });

  it("brings what a step is about to the middle, once it is out of sight", () => {
    const still = { x: 0, y: 0, k: 1 };
    expect(follow(still, { x: 50, y: 50, width: 50, height: 50 }, view)).toBe(still);
    const moved = follow(still, { x: 500, y: 50, width: 50, height: 50 }, view);
    expect(moved).toEqual({ x: 212 - 525, y: 162 - 75, k: 1 });
  });

  it("shows all cards of a picture that is larger, its middle in the middle where that shows them", () => {
    const content = { width: 500, height: 500 };
    const cards = [
      { x: 100, y: 20, width: 50, height: 50 },
      { x: 300, y: 400, width: 50, height: 50 },
    ];
    expect(viewOfAll(content, view, 0.7, cards)).toEqual({ k: 0.7, x: 37, y: -11 });
    const high = viewOfAll(content, view, 0.72, cards);
    expect(high?.y).toBeCloseTo(-3 - 0.72 * 20 + 6);
    expect(viewOfAll(content, view, 0.8, cards)).toBeUndefined();
    expect(viewOfAll(content, view, 0.7, [])).toBeUndefined();
  });

  it("knows when there is something outside the window", () => {
    expect(overflows({ x: 0, y: 0, k: 1 }, { width: 424, height: 324 }, view)).toBe(false);
    expect(overflows({ x: 0, y: 0, k: 2 }, { width: 424, height: 324 }, view)).toBe(true);
  });
});
