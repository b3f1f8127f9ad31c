import { describe, expect, it } from "vitest";
import {
  clamp,
  firstZoom,
  fitZoom,
  follow,
  overflows,
  reveal,
  zoomAt,
} from "../../src/graph/camera";

const view = { width: 424, height: 324 };

describe("camera", () => {
  it("fits a large picture and never enlarges a small one", () => {
    expect(fitZoom({ width: 800, height: 300 }, view)).toBe(0.5);
    expect(fitZoom({ width: 40, height: 30 }, view)).toBe(1);
  });

  it("begins with all of a picture, of its width or of its height, while that can be read", () => {
    expect(firstZoom({ width: 500, height: 300 }, view)).toBe(0.8);
    expect(firstZoom({ width: 500, height: 3000 }, view)).toBe(0.8);
    expect(firstZoom({ width: 5000, height: 335 }, view)).toBe(0.8);
    expect(firstZoom({ width: 5000, height: 100 }, view)).toBe(1);
    expect(firstZoom({ width: 600, height: 3000 }, view)).toBe(1);
  });

  it("gives a usable zoom for a window without a size", () => {
    expect(fitZoom({ width: 800, height: 300 }, { width: 0, height: 0 })).toBeGreaterThan(0);
  });

  it("centres what fits", () => {
    const camera = clamp({ x: -900, y: 900, k: 1 }, { width: 200, height: 100 }, view);
    expect(camera).toEqual({ x: 112, y: 112, k: 1 });
  });

  it("lets no large picture leave the window", () => {
    const content = { width: 1000, height: 1000 };
    expect(clamp({ x: 500, y: -5000, k: 1 }, content, view)).toEqual({ x: 12, y: -720, k: 1 });
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

  it("knows when there is something outside the window", () => {
    expect(overflows({ x: 0, y: 0, k: 1 }, { width: 424, height: 324 }, view)).toBe(false);
    expect(overflows({ x: 0, y: 0, k: 2 }, { width: 424, height: 324 }, view)).toBe(true);
  });
});
