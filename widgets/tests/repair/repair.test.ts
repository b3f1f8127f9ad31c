import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import golden from "../../../tests/golden/repair/broken.json";
import { parseRepair } from "../../src/documents/repair";
import widget from "../../src/index";
import { LocalModel } from "../../src/model/local_model";
import { FakeModel, wire } from "../support/model";

beforeEach(() => {
  vi.stubGlobal("CSS", { escape: (text: string) => text });
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  document.body.replaceChildren();
});

/** The parts of the exercise with another one in place of those of a kind. */
const withPart = (part: { readonly is: string }) =>
  golden.repair.parts.map((one) => (one.is === part.is ? part : one));
const changed = (repair: object, player: unknown = null) => ({
  ...golden,
  repair: { ...golden.repair, ...repair },
  player,
});
const mount = (
  document_: unknown = golden,
  send?: (content: { ask: string; number: string }) => unknown,
) => {
  const model = Object.assign(new FakeModel({ wire: document_ }), send && ({ send } as object));
  const el = document.body.appendChild(document.createElement("div"));
  const end = widget.render({ model, el });
  const one = (selector: string) => el.querySelector<HTMLElement>(selector) as HTMLElement;
  const all = (selector: string) => [...el.querySelectorAll<HTMLElement>(selector)];
  return { model, end, one, all };
};

describe("a program to repair", () => {
  it("shows what is expected and what was found, as text", () => {
    const { one, all } = mount();
    expect(one(".gradviz-repair-head").textContent).toBe("Not repaired yet");
    const rows = all("tbody tr").map((row) => [...row.children].map((cell) => cell.textContent));
    expect(rows).toEqual([
      ["✗ wrong: x.grad", "[2.0, 4.0]", "None"],
      ["✓ right: <b>loss</b>", "5.0", "5.0"],
    ]);
    expect(one(".is-known").textContent).toBe(".data hides <the> write.");
    expect(all(".gradviz-numbered li").map((hint) => hint.textContent)).toEqual([
      "Which node?",
      "It has saved <e>.",
    ]);
    expect(one(".gradviz-repair-ask button").textContent).toBe("Hint 3 of 3");
    expect(all(".gradviz-repair-player > *")).toEqual([]);
  });

  it("shows five of many outcomes, those that are wrong first, and the others with one click", () => {
    const outcome = (number: number) => ({
      what: `w${number}`,
      expected: "1.0",
      found: number % 4 ? "2.0" : "1.0",
      is_right: number % 4 === 0,
    });
    const { one, all } = mount(
      changed({
        parts: withPart({
          is: "Outcomes",
          outcomes: [0, 1, 2, 3, 4, 5, 6, 7, 8].map(outcome),
        } as never),
      }),
    );
    const names = all("tbody th code").map((name) => name.textContent);
    expect(names).toEqual(["w1", "w2", "w3", "w5", "w6", "w7", "w0", "w4", "w8"]);
    const others = one("details") as HTMLDetailsElement;
    expect(others.open).toBe(false);
    expect(others.querySelector("summary")?.textContent).toBe("4 more: 1 wrong, 3 right");
    expect(others.querySelectorAll("tbody tr").length).toBe(4);
  });

  it("asks Python for a hint, and keeps the button while it waits", async () => {
    const sent: { ask: string; number: string }[] = [];
    const { model, one, all } = mount(golden, (content) => content.ask && sent.push(content));
    let listener: ((content: unknown, buffers: DataView[]) => void) | undefined;
    const on = model.on.bind(model);
    model.on = (event, heard) => {
      if (event === "msg:custom") listener = heard as typeof listener;
      else on(event, heard);
    };
    const button = one(".gradviz-repair-ask button");
    button.click();
    button.click();
    expect(sent.map(({ ask }) => ask)).toEqual(["hint"]);
    const items = ["Which `node`?", "It has saved <e>.", "Use `add`."].map((hint) => [hint]);
    const parts = withPart({ is: "ItemList", name: "hint", items } as never);
    model.set("wire", changed({ parts, button: "Explanation" }));
    listener?.({ answer: sent[0]?.number, error: "" }, [new DataView(new ArrayBuffer(1))]);
    await vi.waitFor(() => expect(button.hasAttribute("aria-disabled")).toBe(false));
    expect(all(".gradviz-numbered li")).toHaveLength(3);
    expect(button.textContent).toBe("Explanation");
    expect(one(".gradviz-repair-said").textContent).toBe("Hint 3: Use add.");
  });

  it("says in a page without a kernel that one is needed, and offers no hint", () => {
    const { one } = mount();
    expect(one(".gradviz-repair-ask button").hidden).toBe(true);
    expect(one(".gradviz-repair-said").textContent).toContain("This page has no kernel");
    expect(one(".gradviz-repair-said").dataset.problem).toBe("true");
  });

  it("says what to do where Python has ended", async () => {
    const { one } = mount(golden, () => {
      throw new Error("closed");
    });
    one(".gradviz-repair-ask button").click();
    await vi.waitFor(() =>
      expect(one(".gradviz-repair-said").textContent).toContain("run the cell again"),
    );
    expect(one(".gradviz-repair-said").dataset.problem).toBe("true");
  });

  it("shows the player when it comes, and takes it away with the view", () => {
    const { model, one, all, end } = mount();
    one(".gradviz-repair-ask button").focus();
    model.set(
      "wire",
      changed({ button: "", solution: "def f(x):\n    return x", fix: "f(`x`)" }, wire),
    );
    expect(one(".gradviz-repair-solution").textContent).toContain("def f(x):");
    expect(one(".gradviz-repair-solution").textContent).toContain("Type: f(x)");
    expect(document.activeElement).toBe(one(".gradviz-repair-solution"));
    expect(all(".gradviz-repair-player .gradviz-viewport .gv-node")).toHaveLength(5);
    end();
    expect(all("*")).toEqual([]);
  });

  it("refuses a damaged document with words", () => {
    expect(() =>
      parseRepair({
        ...golden,
        repair: { ...golden.repair, parts: [{ is: "ItemList", items: [1] }] },
      }),
    ).toThrow("run the cell again");
    expect(() => parseRepair({ ...golden, player: undefined })).toThrow("run the cell again");
  });
});

describe("a model inside another", () => {
  it("tells its listeners, until they leave", () => {
    const model = new LocalModel({ step: 1 });
    const heard = vi.fn();
    model.on("change:step", heard);
    model.set("step", 2);
    model.off("change:step", heard);
    model.set("step", 3);
    expect([model.get("step"), heard.mock.calls.length]).toEqual([3, 1]);
  });
});
