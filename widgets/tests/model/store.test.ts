// @vitest-environment node
import { describe, expect, it, vi } from "vitest";
import { Store } from "../../src/model/store";
import { FakeModel, wire } from "../support/model";

const make = (state = {}) => {
  const model = new FakeModel(state);
  const end = new AbortController();
  const failed = vi.fn();
  return { model, end, failed, store: new Store(model, end.signal, failed) };
};

describe("store", () => {
  it("reads traits and gives what is out of range its default", () => {
    const { store } = make({ selected: 3, height: -1, engine_arrows: "yes" });
    expect(store.get("selected")).toBe("");
    expect(store.get("height")).toBe(0);
    expect(store.get("engine_arrows")).toBe(false);
  });

  it("sends a trait to the kernel once and keeps what is local", () => {
    const { model, store } = make();
    store.set("selected", "n1");
    store.set("selected", "n1");
    store.set("panel", "outline");
    expect(model.sent).toEqual([{ selected: "n1" }]);
  });

  it("tells a watcher at once and on each change of its names", () => {
    const { model, store } = make();
    const seen: string[] = [];
    store.watch(["selected", "query"], () =>
      seen.push(`${store.get("selected")}/${store.get("query")}`),
    );
    model.set("selected", "n2");
    store.set("query", "mul");
    store.set("panel", "outline");
    expect(seen).toEqual(["/", "n2/", "n2/mul"]);
  });

  it("checks a wire once and again after it changed", () => {
    const { model, store } = make();
    expect(store.get("wire")).toBe(store.get("wire"));
    model.set("wire", { ...wire, title: "other" });
    expect(store.get("wire").title).toBe("other");
  });

  it("hands an error of a watcher on instead of throwing into the model", () => {
    const { model, store, failed } = make();
    store.watch(["wire"], () => store.get("wire"));
    model.set("wire", { format: 2 });
    expect(failed).toHaveBeenCalledOnce();
  });

  it("leaves nothing on the model when the view ends", () => {
    const { model, end, store } = make();
    const seen = vi.fn();
    store.watch(["selected"], seen);
    end.abort();
    model.set("selected", "n1");
    expect(model.listenerCount).toBe(0);
    expect(seen).toHaveBeenCalledOnce();
  });
});
