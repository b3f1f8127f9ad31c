import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import widget from "../src/index";
import { FakeModel, wire } from "./support/model";

// jsdom has neither; the browser tests cover what they do.
beforeEach(() => {
  vi.stubGlobal("CSS", { escape: (text: string) => text.replace(/[^\w-]/g, "\\$&") });
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  document.body.replaceChildren();
});

const mount = (state = {}) => {
  const model = new FakeModel(state);
  const el = document.body.appendChild(document.createElement("div"));
  const end = widget.render({ model, el });
  const one = <T extends Element = HTMLElement>(selector: string) =>
    el.querySelector<T>(selector) as T;
  const all = (selector: string) => [...el.querySelectorAll<HTMLElement>(selector)];
  const open = (panel: string) => one(`[id$="-tab-${panel}"]`).click();
  return { model, el, end, one, all, open };
};
const press = (target: Element, key: string) =>
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));

describe("widget", () => {
  it("shows picture, outline, legend and the summary", () => {
    const { one, all, open } = mount();
    expect(one(".gradviz-root").dataset.ready).toBe("true");
    expect(all(".gradviz-viewport .gv-node")).toHaveLength(5);
    open("outline");
    expect(all(".gradviz-outline tbody tr")).toHaveLength(wire.outline.rows.length);
    open("legend");
    // Nothing is freed in this picture.
    const drawn = wire.legend.filter((entry) => entry.class !== "gv-freed");
    const told = all(".gradviz-legend li").map((entry) => entry.textContent);
    expect(told).toEqual(drawn.map(({ label }) => label));
    expect(one(".gradviz-inspector").hidden).toBe(true);
    one('button[aria-label="Details"]').click();
    expect(one(".gradviz-inspector").hidden).toBe(false);
    expect(one(".gradviz-inspector").textContent).toContain("5 nodes, 2 leaves");
  });

  it("opens one panel at a time, and closes it with Escape before the selection goes", () => {
    const { model, all, one, open } = mount({ selected: "n1" });
    const opened = () => all(".gradviz-panel:not([hidden])").map(({ className }) => className);
    expect(opened()).toEqual([]);
    open("legend");
    open("outline");
    expect(opened()).toEqual(["gradviz-panel is-outline"]);
    one(".gradviz-outline button").focus();
    press(one(".gradviz-outline button"), "Escape");
    expect(opened()).toEqual([]);
    expect(document.activeElement).toBe(one('[id$="-tab-outline"]'));
    expect(model.state.selected).toBe("n1");
    press(one('[id$="-tab-outline"]'), "Escape");
    expect(model.state.selected).toBe("");
    open("outline");
    open("outline");
    expect(opened()).toEqual([]);
  });

  it("keeps all paths through what is selected, and the rest fades", () => {
    const { model, all } = mount({ selected: "n2" });
    const faded = () =>
      all(".gradviz-viewport .is-tracing [role=img][data-id]:not(.is-on-path)").map(
        ({ dataset }) => dataset.id,
      );
    const joined = () =>
      all(".gradviz-viewport .gv-edge.is-on-path").map(
        ({ dataset }) => `${dataset.source} ${dataset.target}`,
      );
    expect(faded()).toContain("n3");
    expect(faded()).not.toContain("n4");
    expect(joined()).not.toContain("n1 n3");
    expect(joined()).toContain("n0 n1");
    model.set("selected", "");
    expect(all(".is-tracing, .is-on-path")).toEqual([]);
  });

  it("selects by click and tells the kernel", () => {
    const { model, one, open } = mount();
    open("outline");
    one("[data-id=n2] text").dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(model.sent).toEqual([{ selected: "n2" }]);
    expect(one("[data-id=n2]").classList).toContain("is-selected");
    expect(one(".gradviz-inspector").textContent).toContain("held · saved v0, now v0");
    expect(one(".gradviz-outline tr.is-selected button").getAttribute("aria-pressed")).toBe("true");
  });

  it("selects a tag that lies in a card", () => {
    const { model, one } = mount();
    one("[data-id=t2] text").dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(model.state.selected).toBe("t2");
  });

  it("follows a selection made in Python", () => {
    const { model, one } = mount();
    model.set("selected", "t3");
    expect(one("[data-id=t3]").classList).toContain("is-selected");
    expect(one("[role=status]").textContent).toContain("x, requires no grad");
  });

  it("is one tab stop each for graph, outline, tabs and toolbar", () => {
    const { el, open } = mount();
    open("outline");
    for (const part of [
      ".gradviz-viewport > svg",
      ".gradviz-outline",
      ".gradviz-tabs",
      ".gradviz-toolbar",
    ]) {
      expect(el.querySelectorAll(`${part} [tabindex="0"]`), part).toHaveLength(1);
    }
  });

  it("keeps JupyterLab's shortcuts off everything that takes focus", () => {
    const { el } = mount();
    for (const stop of el.querySelectorAll("button, input, summary, [tabindex]")) {
      expect(stop.getAttribute("data-lm-suppress-shortcuts"), stop.outerHTML).toBe("true");
    }
  });

  it("selects with Enter and clears with Escape, and keeps the keys to itself", () => {
    const { model, one } = mount();
    const outside = vi.fn();
    document.addEventListener("keydown", outside);
    press(one("[data-id=n1]"), "Enter");
    expect(model.state.selected).toBe("n1");
    press(one("[data-id=n1]"), "Escape");
    expect(model.state.selected).toBe("");
    expect(outside).not.toHaveBeenCalled();
    press(one("[data-id=n1]"), "b");
    expect(outside).toHaveBeenCalledOnce();
    document.removeEventListener("keydown", outside);
  });

  it("finds, counts and goes round", () => {
    const { model, one } = mount();
    const input = one<HTMLInputElement>(".gradviz-find input");
    input.value = "Backward";
    input.dispatchEvent(new Event("input", { bubbles: true }));
    expect(one("[role=status]").textContent).toBe("4 matches");
    const visited = [];
    for (let i = 0; i < 5; i += 1) {
      press(input, "Enter");
      visited.push(model.state.selected);
    }
    expect(visited).toEqual(["n0", "n1", "n2", "t2", "n0"]);
    expect(one(".gradviz-count").textContent).toBe("1/4");
    press(input, "Escape");
    expect(input.value).toBe("");
  });

  it("turns the arrows with the trait", () => {
    const { model, one } = mount({ engine_arrows: true });
    const svg = one(".gradviz-viewport > svg");
    expect(svg.classList).toContain("gv-engine");
    one('button[aria-label="Engine arrows"]').click();
    expect(svg.classList).not.toContain("gv-engine");
    expect(model.state.engine_arrows).toBe(false);
  });

  it("hides JSON when the document does not carry it", () => {
    const { json: _, ...small } = wire;
    const { all } = mount({ wire: small });
    const shown = all("[role=menuitem]").filter((item) => !item.hidden);
    expect(shown.map((item) => item.textContent)).not.toContain("JSON");
  });

  it("takes over a new picture", () => {
    const { model, one, all } = mount();
    model.set("wire", { ...wire, title: "second", items: wire.items.slice(0, 1), legend: [] });
    expect(one(".gradviz-root").getAttribute("aria-label")).toBe("second");
    expect(all(".gradviz-viewport > svg [tabindex]")).toHaveLength(1);
    expect(one('[id$="-tab-legend"]').hidden).toBe(true);
  });

  it("leaves picture and text when the picture cannot be used", () => {
    const { one } = mount({ wire: { ...wire, items: [{}] } });
    expect(one(".gradviz-problem").textContent).toContain('"items"');
    expect(one<HTMLImageElement>("img").src).toMatch(/^data:image\/svg/);
    expect(one("pre").textContent).toBe(wire.text);
  });

  it("recovers with the next good picture", () => {
    const { model, one } = mount({ wire: { format: 0 } });
    expect(one(".gradviz-problem").textContent).toContain("this picture has format 0");
    model.set("wire", wire);
    expect(one(".gradviz-root").dataset.ready).toBe("true");
  });

  it("shows hostile words as words", () => {
    const evil = '"><img src=x onerror=alert(1)>';
    const items = wire.items.map((item) => ({
      ...item,
      label: evil,
      aria: evil,
      details: [{ heading: evil, rows: [[evil, evil]] }],
    }));
    const rows = wire.outline.rows.map((row) => ({ id: row.id, cells: [evil, evil] }));
    const { one, el } = mount({
      wire: {
        ...wire,
        title: evil,
        summary: evil,
        items,
        legend: [{ class: evil, label: evil }],
        outline: { columns: [evil, evil], rows },
      },
      selected: "n0",
    });
    expect(el.querySelector("img")).toBeNull();
    expect(one(".gradviz-inspector-title").textContent).toBe(evil);
  });

  it("leaves nothing behind when the view goes away", () => {
    const added = vi.spyOn(document, "addEventListener");
    const { model, end, el } = mount();
    const signals = added.mock.calls.map(
      ([, , options]) => (options as AddEventListenerOptions).signal,
    );
    end();
    expect(model.listenerCount).toBe(0);
    expect(el.childNodes).toHaveLength(0);
    expect(signals.length).toBeGreaterThan(0);
    for (const signal of signals) expect(signal?.aborted).toBe(true);
  });
});
