import { afterEach, describe, expect, it, vi } from "vitest";
import { inflateDocument } from "../../src/documents/parse";
import widget from "../../src/index";
import { InflatedModel } from "../../src/model/inflated_model";
import { compressed } from "../support/compressed";
import { FakeModel, wire } from "../support/model";

// What Python wrote: zlib level 9 of {"format":1,"title":"\u2202 \ud800"}.
const FROM_PYTHON = "eNqrVkrLL8pNLFGyMtRRKsksyUlVslKKKTUyMjBSiClNsTAwUKoFANLZCsU=";

const make = (state = {}) => {
  const model = new FakeModel(state);
  const end = new AbortController();
  const inflated = new InflatedModel(model, end.signal);
  const titles: unknown[] = [];
  const note = () => titles.push((inflated.get("wire") as { title?: unknown } | null)?.title);
  inflated.on("change:wire", note);
  return { model, end, inflated, titles };
};
const titled = (title: string) => compressed({ ...wire, title });
/** All that was on its way has arrived: it began before these, of which each waits for the last. */
const settled = async () => {
  for (const title of ["one", "another", "last"]) await inflateDocument(await titled(title));
};

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  document.body.replaceChildren();
});

describe("a compressed document", () => {
  it("is read as Python wrote it", async () => {
    expect(await inflateDocument({ format: 1, deflate: FROM_PYTHON })).toEqual({
      format: 1,
      title: "∂ \ud800",
    });
  });

  it("comes out as it went in", async () => {
    expect(await inflateDocument(await compressed(wire))).toEqual(wire);
  });

  it.each([wire, undefined, null, "text", { format: 2, deflate: "" }])(
    "is told from anything else, which is given back at once",
    (value) => {
      expect(inflateDocument(value)).toBe(value);
    },
  );

  it.each([3, "", "no base64 §", "AAAA", FROM_PYTHON.slice(0, -8), `${FROM_PYTHON}AAAA`])(
    "that is damaged is said to be so",
    async (deflate) => {
      await expect(inflateDocument({ format: 1, deflate })).rejects.toThrow(
        "the data of this picture is damaged: run the cell again",
      );
    },
  );

  it("names a browser that cannot read it", async () => {
    vi.stubGlobal("DecompressionStream", undefined);
    await expect(inflateDocument({ format: 1, deflate: FROM_PYTHON })).rejects.toThrow("too old");
  });
});

describe("the inflated model", () => {
  it("has a picture that is not compressed at once", () => {
    const { inflated } = make();
    const ready = vi.fn();
    inflated.whenReady(ready);
    expect(ready).toHaveBeenCalledOnce();
    expect(inflated.get("wire")).toBe(wire);
  });

  it("is ready once, when the picture can be read", async () => {
    const { model, inflated } = make({ wire: await compressed(wire) });
    const ready = vi.fn();
    inflated.whenReady(ready);
    expect(ready).not.toHaveBeenCalled();
    await vi.waitFor(() => expect(ready).toHaveBeenCalledOnce());
    expect(inflated.get("wire")).toEqual(wire);
    model.set("wire", wire);
    expect(ready).toHaveBeenCalledOnce();
  });

  it("keeps the picture before until the next one can be read", async () => {
    const { model, inflated, titles } = make();
    model.set("wire", await titled("second"));
    expect(inflated.get("wire")).toBe(wire);
    await vi.waitFor(() => expect(titles).toEqual(["second"]));
  });

  it("shows only the newest of pictures that arrive together", async () => {
    const { model, titles } = make({ wire: await titled("first") });
    model.set("wire", await titled("second"));
    model.set("wire", { format: 1, deflate: "damaged" });
    model.set("wire", await titled("third"));
    await settled();
    expect(titles.at(-1)).toBe("third");
    const [fourth, plain] = [await titled("fourth"), { ...wire, title: "plain" }];
    titles.length = 0;
    model.set("wire", fourth);
    model.set("wire", plain);
    await settled();
    expect(titles).toEqual(["plain"]);
  });

  it("tells nobody when the view has ended", async () => {
    const { model, end, titles } = make({ wire: await compressed(wire) });
    end.abort();
    await settled();
    expect(titles).toEqual([]);
    expect(model.listenerCount).toBe(0);
  });
});

describe("widget with a compressed document", () => {
  const mount = (state = {}) => {
    vi.stubGlobal("CSS", { escape: (text: string) => text.replace(/[^\w-]/g, "\\$&") });
    vi.spyOn(console, "error").mockImplementation(() => {});
    const model = new FakeModel(state);
    const el = document.body.appendChild(document.createElement("div"));
    return { model, el, end: widget.render({ model, el }) };
  };

  it("shows what was selected in the meantime", async () => {
    const { model, el } = mount({ wire: await compressed(wire) });
    model.set("selected", "n2");
    await vi.waitFor(() => expect(el.querySelector("[data-ready]")).not.toBeNull());
    expect(el.querySelector("[data-id=n2]")?.classList).toContain("is-selected");
  });

  it("selects what only the picture on its way has", async () => {
    const { model, el } = mount({ wire: { ...wire, items: wire.items.slice(0, 1) } });
    model.set("wire", await compressed(wire));
    model.set("selected", "n2");
    const said = el.querySelector("[role=status]");
    expect(said?.textContent).not.toContain("nothing");
    await vi.waitFor(() => expect(said?.textContent).toContain("selected: MmBackward0"));
    expect(el.querySelector("[data-id=n2]")?.classList).toContain("is-selected");
  });

  it("says that it is damaged and recovers with the next one", async () => {
    const { model, el } = mount({ wire: { format: 1, deflate: "AAAA" } });
    await vi.waitFor(() => expect(el.textContent).toContain("is damaged: run the cell again"));
    model.set("wire", await compressed(wire));
    await vi.waitFor(() => expect(el.querySelector("[data-ready]")).not.toBeNull());
  });

  it("leaves nothing when the view goes away before it is there", async () => {
    const { model, el, end } = mount({ wire: await compressed(wire) });
    end();
    await settled();
    expect(el.childElementCount).toBe(0);
    expect(model.listenerCount).toBe(0);
  });
});
