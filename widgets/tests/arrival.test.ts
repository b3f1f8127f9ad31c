// A view, its element and its document come in any order, and a view lives however they do.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import repair from "../../tests/golden/repair/broken.json";
import golden from "../../tests/golden/report/made_up.json";
import { inflateDocument } from "../src/documents/parse";
import widget from "../src/index";
import { compressed } from "./support/compressed";
import { foldedWire } from "./support/folded";
import { FakeModel, wire } from "./support/model";
import { recording } from "./support/recording";

const report = { ...golden, pictures: wire.pictures, text: "what a reader without it gets" };
const DOCUMENTS = { graph: wire, folds: foldedWire, recording, report, repair };
type Act = "attach" | "document" | "update" | "detach" | "attach again";
const ACTS: readonly Act[] = ["attach", "document", "update", "detach", "attach again"];

/** All orders in which an act comes after those that it needs. */
function orders(done: readonly Act[] = []): (readonly Act[])[] {
  const needed: Record<Act, Act[]> = {
    attach: [],
    document: [],
    update: ["document"],
    detach: ["attach"],
    "attach again": ["detach"],
  };
  const next = ACTS.filter(
    (act) => !done.includes(act) && needed[act].every((before) => done.includes(before)),
  );
  return next.length === 0 ? [done] : next.flatMap((act) => orders([...done, act]));
}

beforeEach(() => {
  vi.stubGlobal("CSS", { escape: (text: string) => text.replace(/[^\w-]/g, "\\$&") });
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  document.body.replaceChildren();
});

/** All that was on its way has arrived: it began before this, which waits for as much. */
const settled = async (sent: unknown) => {
  for (let i = 0; i < 3; i += 1) await inflateDocument(await compressed(sent));
};

describe.each(Object.entries(DOCUMENTS))("a view of %s", (_, sent) => {
  it.each([undefined, null, {}])("says that it is drawing while there is no document", (none) => {
    const el = document.createElement("div");
    widget.render({ model: new FakeModel({ wire: none }), el });
    expect(el.textContent).toBe("drawing …");
  });

  it.each([false, true])("is alive whatever comes first (compressed: %s)", async (isCompressed) => {
    for (const order of orders()) {
      const given = async () => (isCompressed ? await compressed(sent) : { ...sent });
      const model = new FakeModel({ wire: {} });
      const el = document.createElement("div");
      const end = widget.render({ model, el });
      for (const act of order) {
        if (act === "document" || act === "update") model.set("wire", await given());
        else if (act === "detach") el.remove();
        else document.body.append(el);
        if (isCompressed) await settled(sent);
      }
      expect(el.querySelector<HTMLElement>("[data-ready]"), order.join(", ")).not.toBeNull();
      expect(el.textContent, order.join(", ")).not.toContain("cannot be shown");
      end();
    }
  });
});
