import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RecordingDocument } from "../../src/documents/recording";
import widget from "../../src/index";
import { folding, items, lateInside, modelInsides } from "../support/folded";
import { FakeModel, wire as graph } from "../support/model";
import { inAll, partOf, recording } from "../support/recording";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("CSS", { escape: (text: string) => text.replace(/[^\w-]/g, "\\$&") });
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  document.body.replaceChildren();
});

/** The sub-step 5.2, opened at, and the steps 5 and 7. */
const whole: RecordingDocument = {
  ...recording,
  open: 6,
  runs: [
    { label: "b · Block", caption: { words: ["ran"] }, first: 9, last: 10, nodes: 2, open: false },
  ],
};
const part = partOf(whole, [6, 7, 10]);

type Message = { readonly ask?: unknown; readonly number?: string; readonly shown?: boolean };

class WithKernel extends FakeModel {
  readonly messages: Message[] = [];
  isGone = false;
  readonly #told = new Map<string, (content?: unknown, buffers?: DataView[]) => void>();
  send: ((content: unknown) => void) | undefined = (content) => {
    if (this.isGone) throw new Error("Cannot send");
    this.messages.push(content as Message);
  };
  override on(event: string, listener: () => void): void {
    this.#told.set(event, listener);
    super.on(event, listener);
  }
  tell(event: string, content?: unknown, ...buffers: DataView[]): void {
    this.#told.get(event)?.(content, buffers);
  }
}

const mount = (state = {}, model = new WithKernel({ wire: part, step: "5.2", ...state })) => {
  const el = document.body.appendChild(document.createElement("div"));
  const end = widget.render({ model, el });
  const one = <T extends Element = HTMLElement>(selector: string) =>
    el.querySelector<T>(selector) as T;
  const button = (label: string) => one<HTMLButtonElement>(`button[aria-label="${label}"]`);
  const step = () => one(".gradviz-where strong").textContent;
  const rest = () => one(".gradviz-rest");
  const said = () => one("[role=status]").textContent;
  const asked = () => model.messages.filter(({ ask }) => ask).map(({ ask }) => ask);
  return { model, el, end, one, button, step, rest, said, asked };
};

const GONE = "The kernel went before the other 9 steps came: run the cell again.";

describe("a recording of which some steps have come", () => {
  it("says how many, and to everyone that the rest follows", () => {
    const { step, rest, said } = mount();
    expect(step()).toBe("step 5.2 of 8");
    expect(rest().firstChild?.textContent).toBe("3 of 12 steps");
    expect(rest().textContent).toContain("The rest follows when the cell has ended.");
    rest().dispatchEvent(new Event("pointerenter"));
    vi.advanceTimersByTime(1000);
    expect(document.querySelector(".gradviz-tooltip")?.textContent).toBe(
      "The rest follows when the cell has ended.",
    );
    expect(said()).toBe("");
  });

  it("steps through and plays what it has", () => {
    const { model, button, step } = mount();
    button("Forward").click();
    expect([step(), model.state.step]).toEqual(["step 5 of 8", 5]);
    button("Play").click();
    vi.advanceTimersByTime(3000);
    expect(step()).toBe("step 7 of 8");
    expect(button("Play")).not.toBeNull();
    expect(button("Forward").getAttribute("aria-disabled")).toBe("true");
  });

  it("does not say what was kept at most", () => {
    const { model, one } = mount({ step: 7 });
    expect(one(".gradviz-memory").textContent).not.toContain("at most");
    model.set("wire", whole);
    expect(one(".gradviz-memory").textContent).toContain("at most 8 B");
  });

  it("keeps a step that Python set and that is not here, and shows it when it has come", () => {
    const { model, step } = mount({ step: 3 });
    expect(step()).toBe("step 5.2 of 8");
    model.set("step", 2);
    expect([step(), model.sent]).toEqual(["step 5.2 of 8", []]);
    model.set("wire", whole);
    expect([step(), model.state.step]).toEqual(["step 2 of 8", 2]);
  });
});

describe("the rest of a recording", () => {
  it("comes without a change of what is seen", () => {
    const { model, el, one, step, rest, said } = mount({ selected: "n1" });
    one('[id$="-tab-outline"]').click();
    one<HTMLInputElement>(".gradviz-find input").value = "mul";
    const seen = () =>
      [
        ...[
          ".gradviz-viewport > svg",
          ".gradviz-inspector",
          ".gradviz-caption",
          ".gradviz-outline",
        ],
        ".gradviz-find",
      ].map((part) =>
        one(part)
          .outerHTML.replaceAll(/gradviz-\w+-/g, "")
          .replaceAll(/transform: [^"]*/g, ""),
      );
    const before = seen();
    model.set("wire", whole);
    expect(seen()).toEqual(before);
    expect(step()).toBe("step 5.2 of 8");
    expect(rest().hidden).toBe(true);
    expect(said()).toBe("");
    expect(model.sent).toEqual([]);
    expect(one<HTMLInputElement>("input[type=range]").max).toBe("9");
    expect(el.querySelector(".gradviz-error")).toBeNull();
  });

  it.each([
    ["a card of the graph", "[data-id=n1]"],
    ["the slider", "input[type=range]"],
    ["a word of the caption", ".gradviz-sentence button"],
    ["a line of the code", '.gradviz-code [data-line="line:0:4"]'],
    ["a button", 'button[aria-label="Forward"]'],
    ["find", ".gradviz-find input"],
  ])("leaves the focus on %s", (_, selector) => {
    const { model, one } = mount({ step: 5 });
    const about = () => {
      const { dataset, ariaLabel, type } = document.activeElement as HTMLButtonElement;
      return { ...dataset, ariaLabel, type };
    };
    one(selector).focus();
    const before = about();
    expect(document.activeElement).toBe(one(selector));
    model.set("wire", whole);
    expect(about()).toEqual(before);
    expect(document.activeElement).toBe(one(selector));
  });

  it("leaves open what a person opened", () => {
    const { model, step, button, one } = mount({ step: 5, wire: partOf(whole, [1, 5, 7]) });
    one<HTMLButtonElement>(".gradviz-inside button").click();
    expect(step()).toBe("step 5.1 of 8");
    button("Forward").click();
    expect(step()).toBe("step 5 of 8");
    model.set("wire", whole);
    button("Back").click();
    expect(step()).toBe("step 5.2 of 8");
    button("Last step").click();
    button("Back").click();
    expect([step(), one(".gradviz-inside").textContent]).toEqual([
      "step 7 of 8",
      "2 steps insideclose",
    ]);
  });

  it("is played on where what was here is not at its end", () => {
    const { model, button, step } = mount();
    button("Play").click();
    model.set("wire", whole);
    vi.advanceTimersByTime(1000);
    expect(step()).toBe("step 5 of 8");
    expect(button("Pause")).not.toBeNull();
  });

  it("is a new picture where all of another recording comes after a whole one", () => {
    const { model, one } = mount({ wire: recording, step: 7 });
    one(".gradviz-inside button").click();
    model.set("wire", { ...recording, title: "other" });
    expect(one(".gradviz-root").getAttribute("aria-label")).toBe("other");
  });

  it("may come in parts", () => {
    const { model, rest, step } = mount();
    model.set("wire", partOf(whole, [3, 6, 7, 10]));
    expect([rest().firstChild?.textContent, step()]).toEqual(["4 of 12 steps", "step 5.2 of 8"]);
  });
});

describe("a kernel that went before the rest came", () => {
  it.each([
    [
      "the notebook says so",
      ({ model }: ReturnType<typeof mount>) => model.tell("comm_live_update"),
    ],
    [
      "a message fails",
      ({ model }: ReturnType<typeof mount>) => {
        model.isGone = true;
        vi.advanceTimersByTime(2000);
      },
    ],
    [
      "the view is marked as without one",
      ({ el }: ReturnType<typeof mount>) => {
        el.classList.add("jupyter-widgets-disconnected");
        vi.advanceTimersByTime(2000);
      },
    ],
  ])("is told of when %s, once", (_, end) => {
    const mounted = mount();
    end(mounted);
    const { rest, said, step, button, asked } = mounted;
    expect([rest().textContent, said()]).toEqual([GONE, GONE]);
    vi.advanceTimersByTime(100_000);
    expect(asked()).toEqual([]);
    button("Forward").click();
    expect([step(), rest().textContent]).toEqual(["step 5 of 8", GONE]);
  });

  it("is told of one step", () => {
    const { model, rest } = mount({ wire: partOf(whole, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) });
    model.tell("comm_live_update");
    expect(rest().textContent).toBe(
      "The kernel went before the other step came: run the cell again.",
    );
  });

  it("is no news where all steps are here", () => {
    const { model, said, rest, asked } = mount();
    model.set("wire", whole);
    model.tell("comm_live_update");
    vi.advanceTimersByTime(100_000);
    expect([said(), rest().hidden, asked()]).toEqual(["", true, []]);
  });

  it("is asked for the rest now and then, and no longer when the view has gone", () => {
    const { asked, end } = mount();
    vi.advanceTimersByTime(60_000);
    expect(asked()).toEqual(Array(5).fill("rest"));
    end();
    vi.advanceTimersByTime(60_000);
    expect(asked()).toHaveLength(5);
  });
});

describe("what the kernel is told", () => {
  it.each([
    ["recording", whole],
    ["part of a recording", part],
    ["graph", graph],
  ])("is once of a view that it shows a %s", (_, wire) => {
    const { model } = mount({ wire });
    model.set("wire", wire);
    expect(model.messages).toEqual([{ shown: true }]);
  });

  it("is nothing in a saved page, and a kernel that has ended is no error", () => {
    const page = new WithKernel({ wire: whole });
    page.send = undefined;
    const ended = new WithKernel({ wire: whole });
    ended.isGone = true;
    for (const model of [page, ended]) {
      expect(mount({}, model).one(".gradviz-root").dataset.ready).toBe("true");
      expect(model.messages).toEqual([]);
    }
  });
});

describe("folds while some steps have come", () => {
  const insides = { normal: modelInsides };
  const cards = [...Object.values(modelInsides), lateInside].flatMap((inside) => inside.cards);
  const folded: RecordingDocument = {
    ...recording,
    fold: { ...folding, insides, current: [] },
    pieces: cards.map(({ markup }) => markup),
    pictures: {
      normal: {
        svg: recording.pictures.normal?.svg ?? "",
        elements: Object.fromEntries(cards.map(({ id }, i) => [`gv-${id}`, [[i]]])),
      },
    },
    views: recording.views.map((view, i) => ({
      ...view,
      items: i ? {} : Object.fromEntries(items.map((item) => [item.id, item])),
      at: i ? {} : inAll(Object.fromEntries(cards.map(({ id }) => [`gv-${id}`, 0]))),
    })),
  };
  const open = (el: Element, id: string) =>
    el
      .querySelector(`.gradviz-viewport [data-id="${id}"]`)
      ?.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
  const frames = (el: Element) =>
    [...el.querySelectorAll<SVGElement>(".gradviz-viewport .gv-open")].map(
      ({ dataset }) => dataset.id,
    );

  it("stay open", () => {
    const { model, el } = mount({ wire: partOf(folded, [3, 4]), step: 4 });
    open(el, "f1");
    open(el, "f2");
    expect(frames(el)).toEqual(["f1", "f2"]);
    model.set("wire", folded);
    expect(frames(el)).toEqual(["f1", "f2"]);
  });

  it("are asked for when the rest has come: the kernel answers about all steps", async () => {
    const { model, el, asked } = mount({ wire: partOf(folded, [3, 4]), step: 4 });
    open(el, "f1");
    open(el, "f3");
    await vi.advanceTimersByTimeAsync(1000);
    expect([asked(), frames(el)]).toEqual([[], ["f1"]]);
    model.set("wire", folded);
    await vi.advanceTimersByTimeAsync(0);
    expect(asked()).toEqual([{ inside: ["f3"] }]);
    const { number } = model.messages.at(-1) ?? {};
    const bytes = new TextEncoder().encode(
      JSON.stringify({ insides: { normal: { f3: lateInside } } }),
    );
    model.tell("msg:custom", { answer: number, error: "" }, new DataView(bytes.buffer));
    await vi.advanceTimersByTimeAsync(0);
    expect(frames(el)).toEqual(["f1", "f3"]);
  });
});
