import { afterEach, describe, expect, it } from "vitest";
import type { GraphDocument } from "../../src/documents/graph";
import widget from "../../src/index";
import { FakeModel, wire } from "../support/model";

const large: GraphDocument = {
  ...wire,
  density: "compact",
  pictures: { compact: wire.pictures.compact ?? "", full: wire.pictures.full ?? "" },
};

function mount(state: Record<string, unknown> = {}) {
  const model = new FakeModel(state);
  const el = document.body.appendChild(document.createElement("div"));
  widget.render({ model, el });
  const radios = [...el.querySelectorAll<HTMLElement>("[role=radiogroup] [role=radio]")];
  const checked = () =>
    radios
      .filter((radio) => radio.getAttribute("aria-checked") === "true")
      .map((r) => r.textContent);
  const press = (key: string, target = el.querySelector(".gradviz-viewport [tabindex='0']")) => {
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    target?.dispatchEvent(event);
    return event;
  };
  return { model, el, radios, checked, press };
}

describe("the control of the density", () => {
  afterEach(() => document.body.replaceChildren());

  it("is a group of radio buttons inside the one tab stop of the tools", () => {
    const { el, radios, checked } = mount();
    expect(radios.map((radio) => radio.textContent)).toEqual(["compact", "normal", "full"]);
    expect(checked()).toEqual(["normal"]);
    const tools = el.querySelector(".gradviz-toolbar");
    expect(tools?.contains(radios[0] as Node)).toBe(true);
    expect(tools?.querySelectorAll("button[tabindex='0']")).toHaveLength(1);
  });

  it("says the density to Python, and follows it", () => {
    const { model, radios, checked } = mount();
    radios[0]?.click();
    expect(model.sent).toContainEqual({ density: "compact" });
    expect(checked()).toEqual(["compact"]);
    model.set("density", "full");
    expect(checked()).toEqual(["full"]);
    model.set("density", "auto");
    expect(checked()).toEqual(["normal"]);
  });

  it("goes on with the key d, which the host does not get", () => {
    const { press, checked } = mount();
    for (const density of ["full", "compact", "normal"]) {
      expect(press("d").defaultPrevented).toBe(true);
      expect(checked()).toEqual([density]);
    }
  });

  it("offers what is drawn, and passes over what is not", () => {
    const { radios, checked, press, model } = mount({ wire: large });
    expect(radios.map((radio) => radio.textContent)).toEqual(["compact", "full"]);
    press("d");
    expect(checked()).toEqual(["full"]);
    // Python may ask for it too.
    model.set("density", "normal");
    expect(checked()).toEqual(["compact"]);
  });

  it("keeps the focus on the same card", () => {
    const { el, press } = mount();
    const card = el.querySelector<SVGElement>(".gradviz-viewport [data-id=n2]");
    card?.focus();
    press("d", card);
    expect(document.activeElement?.getAttribute("data-id")).toBe("n2");
  });
});
