// @vitest-environment node
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Kernel } from "../../src/model/kernel";
import type { Listener, Model } from "../../src/model/store";

class Answering implements Model {
  readonly asked: { ask: unknown; number: string }[] = [];
  readonly listeners = new Set<Listener>();
  get = () => undefined;
  set = () => {};
  save_changes = () => {};
  on = (_: string, listener: Listener) => void this.listeners.add(listener);
  off = (_: string, listener: Listener) => void this.listeners.delete(listener);
  send = (content: unknown) => void this.asked.push(content as { ask: unknown; number: string });

  answer(content: object, ...buffers: DataView<ArrayBuffer>[]): void {
    for (const listener of [...this.listeners]) listener(content, buffers);
  }
}

const bytes = new DataView(new ArrayBuffer(3));

describe("a question to the kernel", () => {
  let model: Answering;
  let kernel: Kernel;
  beforeEach(() => {
    vi.useFakeTimers();
    model = new Answering();
    kernel = new Kernel(model, new AbortController().signal);
  });
  afterEach(() => void vi.useRealTimers());

  it("is answered by the message with its number", async () => {
    const [one, two] = [kernel.ask("animation"), kernel.ask("animation")];
    const [first, second] = model.asked.map(({ number }) => number);
    expect(first).not.toBe(second);
    const other = new DataView(new ArrayBuffer(1));
    model.answer({ answer: second, error: "" }, other);
    model.answer({ answer: first, error: "" }, bytes);
    expect(await one).toBe(bytes);
    expect(await two).toBe(other);
    expect(model.listeners.size).toBe(0);
  });

  it("fails with the kernel's own words", async () => {
    const asked = kernel.ask("animation");
    model.answer({ answer: model.asked[0]?.number, error: "too long to watch" });
    await expect(asked).rejects.toThrow("too long to watch");
  });

  it("is not sent any more when it was cancelled while another one was answered", async () => {
    const clicks = [1, 2, 3].map(() => new AbortController());
    const asked = clicks.map((click, i) => kernel.ask({ inside: [`f${i}`] }, click.signal));
    const failed = [0, 1].map((i) => expect(asked[i]).rejects.toThrow("no longer waited for"));
    clicks[0]?.abort();
    clicks[1]?.abort();
    await Promise.all(failed);
    expect(model.asked.map(({ ask }) => ask)).toEqual([{ inside: ["f0"] }]);
    model.answer({ answer: model.asked[0]?.number, error: "" }, bytes);
    await vi.advanceTimersByTimeAsync(0);
    expect(model.asked.map(({ ask }) => ask)).toEqual([{ inside: ["f0"] }, { inside: ["f2"] }]);
    model.answer({ answer: model.asked[1]?.number, error: "" }, bytes);
    expect(await asked[2]).toBe(bytes);
    expect(model.listeners.size).toBe(0);
  });

  it("fails when nobody answers", async () => {
    const asked = kernel.ask("animation");
    const failed = expect(asked).rejects.toThrow("does not answer");
    await vi.advanceTimersByTimeAsync(60_000);
    await failed;
    expect(model.listeners.size).toBe(0);
  });
});
