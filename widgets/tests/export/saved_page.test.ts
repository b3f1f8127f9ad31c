import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { addressOf, readAddress } from "../../src/export/saved_page";
import { documentAt } from "../../src/export/static_document";
import widget from "../../src/index";
import { Timeline } from "../../src/model/timeline";
import { FakeModel } from "../support/model";
import { recording } from "../support/recording";

const views: AbortController[] = [];

const mount = (state = {}) => {
  const model = new FakeModel({ wire: recording, step: 0, page: true, ...state });
  const el = document.body.appendChild(document.createElement("div"));
  const view = new AbortController();
  views.push(view);
  widget.render({ model, el, signal: view.signal });
  const items = () =>
    [...el.querySelectorAll<HTMLElement>("[role=menuitem]")].filter(({ hidden }) => !hidden);
  const item = (name: string) =>
    items().find((one) => one.textContent === name) as HTMLElement | undefined;
  return { model, el, item };
};
const press = (key: string, target: EventTarget = document.body) =>
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const goTo = (hash: string) => {
  history.replaceState(null, "", hash || location.pathname);
  dispatchEvent(new HashChangeEvent("hashchange"));
};

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("CSS", { escape: (text: string) => text.replace(/[^\w-]/g, "\\$&") });
  history.replaceState(null, "", location.pathname);
});
afterEach(() => {
  for (const view of views.splice(0)) view.abort();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  document.body.replaceChildren();
});

it("names a saved picture after its sub-step", () => {
  const timeline = new Timeline(recording);
  const saved = documentAt(recording, timeline, timeline.placeOf("5.2") ?? 0, "full");
  expect(saved.title).toBe(`${recording.title} step 5.2`);
});

describe("the address of a saved page", () => {
  it.each([
    ["7", "n3", "#step=7&sel=n3"],
    ["7.2", "", "#step=7.2"],
    ["", "n0", "#sel=n0"],
    ["", "", ""],
  ])("of step %j with %j selected is %j", (step, selected, hash) => {
    expect(addressOf(step, selected)).toBe(hash);
    expect(readAddress(hash)).toEqual({ step, selected });
  });

  it("opens the page at a step, with its selection", () => {
    history.replaceState(null, "", "#step=3&sel=n0");
    const { model } = mount();
    expect(model.state).toMatchObject({ step: 3, selected: "n0" });
  });

  it("opens a sub-step with those beside it shown", () => {
    history.replaceState(null, "", "#step=5.2");
    const { model, el } = mount();
    expect(model.state.step).toBe("5.2");
    expect(el.querySelector(".gradviz-where")?.textContent).toContain("step 5.2 of 8");
    expect(el.querySelector<HTMLInputElement>("input[type=range]")?.max).toBe("10");
  });

  it.each(["#step=99", "#step=x", "#step=-1", "#step=2.9", "#sel=n99", "#other"])(
    "stays at its own step for %j",
    (hash) => {
      history.replaceState(null, "", hash);
      expect(mount({ step: 1 }).model.state).toMatchObject({ step: 1, selected: "" });
    },
  );

  it("follows stepping without a new entry in the history, after a pause", () => {
    const before = history.length;
    mount();
    vi.advanceTimersByTime(1000);
    expect(location.hash).toBe("");
    press("ArrowRight");
    press("ArrowRight");
    expect(location.hash).toBe("");
    vi.advanceTimersByTime(1000);
    expect(location.hash).toBe("#step=2");
    expect(history.length).toBe(before);
  });

  it("steps where the browser goes back to", () => {
    const { model } = mount();
    goTo("#step=3&sel=n0");
    expect(model.state).toMatchObject({ step: 3, selected: "n0" });
    goTo("#step=1");
    expect(model.state).toMatchObject({ step: 1, selected: "" });
  });

  it("is left alone in a notebook", () => {
    history.replaceState(null, "", "#step=3");
    const { model, item } = mount({ page: false });
    press("ArrowRight");
    vi.advanceTimersByTime(1000);
    expect(model.state.step).toBe(0);
    expect(location.hash).toBe("#step=3");
    expect(item("link to this step")).toBeUndefined();
  });
});

describe("keys of the steps with nothing focused", () => {
  it("go to the ends, step by step, and inside", () => {
    const { model } = mount();
    const at = (key: string) => {
      press(key);
      return model.state.step;
    };
    const last = at("End");
    expect(last).not.toBe(0);
    expect(at("Home")).toBe(0);
    expect(at("]")).toBe(at("Home") === 0 ? at(".") : undefined);
    expect(at(",")).toBe(0);
    model.set("step", 4);
    expect(at(">")).toBe("5.1");
    expect(at("<")).toBe(5);
  });

  it("step", () => {
    const { model } = mount();
    press("ArrowRight");
    press("ArrowRight");
    press("ArrowLeft");
    expect(model.state.step).toBe(1);
  });

  it("do nothing while a field has the focus, with a modifier, or beside another player", () => {
    const { model } = mount();
    const field = document.body.appendChild(document.createElement("input"));
    field.focus();
    press("ArrowRight", field);
    field.remove();
    document.body.dispatchEvent(
      new KeyboardEvent("keydown", { key: "ArrowRight", altKey: true, bubbles: true }),
    );
    expect(model.state.step).toBe(0);
    mount();
    press("ArrowRight");
    expect(model.state.step).toBe(0);
  });
});

describe("the menu", () => {
  it("copies the link to the step, also before the address has it", async () => {
    const copied: string[] = [];
    vi.stubGlobal("navigator", { clipboard: { writeText: async (t: string) => copied.push(t) } });
    const { item } = mount({ selected: "n0", step: 2 });
    item("link to this step")?.click();
    await vi.advanceTimersByTimeAsync(0);
    expect(copied).toEqual([`${location.href.split("#")[0]}#step=2&sel=n0`]);
  });

  it.each(["animated SVG", "animated GIF"])(
    "says that a page without a kernel has no %s, and what to type",
    async (name) => {
      const { el, item } = mount();
      item(name)?.click();
      await vi.advanceTimersByTimeAsync(0);
      const note = el.querySelector<HTMLElement>(".gradviz-menu-note");
      expect(note?.textContent).toContain("no kernel");
      expect(note?.textContent).toContain('save("steps.svg", animated=True)');
      expect(note?.hidden).toBe(false);
    },
  );
});
