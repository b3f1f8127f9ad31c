// A growing map of one axis, between its breakpoints linear, that brings no two places nearer. Pure.

/** Where an interval begins and ends, and how long it must become. */
export type Need = readonly [start: number, end: number, size: number];

export class Stretch {
  readonly #before: readonly number[];
  readonly #after: readonly number[];

  constructor(length: number, needs: readonly Need[]) {
    const places = new Set([
      0,
      length,
      ...needs.map(([start]) => start),
      ...needs.map(([, end]) => end),
    ]);
    this.#before = [...places].sort((one, other) => one - other);
    const at = new Map<number, number>();
    for (const [i, place] of this.#before.entries()) {
      const before = this.#before[i - 1];
      let least = before === undefined ? place : (at.get(before) ?? 0) + place - before;
      for (const [start, end, size] of needs) {
        if (end === place) least = Math.max(least, (at.get(start) ?? 0) + size);
      }
      at.set(place, least);
    }
    this.#after = [...at.values()];
  }

  /** Where a place is now. */
  at(place: number): number {
    const before = this.#before;
    const last = before.length - 2;
    const after = before.findIndex((known) => known > place);
    const i = Math.min(Math.max((after < 0 ? before.length : after) - 1, 0), last);
    const [low, high] = [before[i] ?? 0, before[i + 1] ?? 1];
    const [from, to] = [this.#after[i] ?? 0, this.#after[i + 1] ?? 1];
    return from + ((place - low) / (high - low)) * (to - from);
  }

  /** Where the middle of a box is: that of its stretched room if it is open, else of itself. */
  middle(start: number, size: number, isOpen: boolean): number {
    return isOpen ? (this.at(start) + this.at(start + size)) / 2 : this.at(start + size / 2);
  }
}
