import { describe, expect, it } from "vitest";
import { type Chosen, choose, openedNow } from "../../src/model/folds";

const ids = (text: string): ReadonlySet<string> => new Set(text.split(" ").filter(Boolean));
const chosen = (opened: string, closed = ""): Chosen => ({
  opened: ids(opened),
  closed: ids(closed),
});
const words = (open: ReadonlySet<string>) => [...open].sort().join(" ");

describe("what is open at a step", () => {
  it("is what a person has open, and what the step opens", () => {
    expect(words(openedNow(chosen("f0"), ids("f1 f2")))).toBe("f0 f1 f2");
    expect(words(openedNow(chosen("f0"), ids("f1 f3")))).toBe("f0 f1 f3");
  });

  it("leaves closed what a person closed, at every step", () => {
    const after = choose(chosen("f0"), ids("f1 f2"), ids("f0 f1"));
    expect(words(openedNow(after, ids("f1 f2")))).toBe("f0 f1");
    expect(words(openedNow(after, ids("f1 f3")))).toBe("f0 f1 f3");
    const later = choose(after, ids("f1 f3"), ids("f0 f1"));
    expect(words(later.closed)).toBe("f2 f3");
  });

  it("keeps open what a person opened, and closes what steps opened", () => {
    const before = choose(chosen("f0"), ids("f1 f2"), ids("f0 f1 f2 f4"));
    expect(words(openedNow(before, ids("f1 f3")))).toBe("f0 f1 f3 f4");
    const own = choose(before, ids("f1 f3"), ids("f0 f1 f2 f3 f4"));
    expect(words(openedNow(own, ids("f1 f3")))).toBe("f0 f1 f2 f3 f4");
    expect(words(openedNow(own, ids("f1 f5")))).toBe("f0 f1 f2 f4 f5");
  });

  it("opens again what a person closed and opened", () => {
    const closed = choose(chosen("f0"), ids("f1"), ids("f0"));
    const opened = choose(closed, ids("f1"), ids("f0 f1"));
    expect(opened.closed.size).toBe(0);
    expect(words(openedNow(opened, ids("f1")))).toBe("f0 f1");
  });
});
