// A field for each kind of value. A field shows what Python says, and gives back what a person sets.
import type { ChoicePart, NumberPart, Part } from "../documents/exploration";
import { focusable, html, setProps } from "../lib/dom";

/** The elements of one value. */
export interface Field {
  /** Where the value is set. */
  readonly element: HTMLElement;
  /** A slider for the same value. */
  readonly slider?: HTMLElement;
  /** Shows a part; `isAhead` keeps the value that is set, which is newer. */
  show(part: Part, isAhead: boolean): void;
}

/** `set` is called with each value that a person sets. */
type Make<P extends Part> = (part: P, id: string, set: (value: P["value"]) => void) => Field;

const makeNumber: Make<NumberPart> = (part, id, set) => {
  const props = { id, type: "number", class: "gradviz-number", step: "any", autocomplete: "off" };
  const field = focusable(html("input", props));
  // Between the steps too: a value that was typed may be there.
  const slider = part.slider ? focusable(html("input", { type: "range", step: "any" })) : undefined;
  slider?.setAttribute("aria-label", `${part.label}, slider`);
  let { step } = part;
  let shown = "";
  const write = (value: number) => {
    field.value = shown = String(value);
    field.removeAttribute("aria-invalid");
    if (!slider) return;
    slider.value = shown;
    slider.setAttribute("aria-valuetext", shown);
  };
  onCommit(field, () => {
    const value = field.value.trim() === "" ? Number.NaN : Number(field.value);
    const fits = part.whole ? Number.isSafeInteger(value) : Number.isFinite(value);
    setProps(field, { "aria-invalid": fits ? undefined : "true" });
    if (!fits || String(value) === shown) return;
    write(value);
    set(value);
  });
  // The browser's own steps begin at the least value and leave 2.0999999999999996.
  const go = (event: KeyboardEvent, way: 1 | -1 | undefined) => {
    if (!way || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const value = tidy((Number(field.value) || 0) + way * step);
    // A slider ends where it ends; only a number that is typed extends it.
    const isOutside = slider && Math.abs(value) > Number(slider.max);
    if (isOutside && event.target === slider) return;
    write(value);
    set(value);
  };
  const ways: Record<string, 1 | -1> = { ArrowUp: 1, ArrowDown: -1 };
  const sliding = { ...ways, ArrowRight: 1, ArrowLeft: -1 } as typeof ways;
  field.addEventListener("keydown", (event) => go(event, ways[event.key]));
  slider?.addEventListener("keydown", (event) => go(event, sliding[event.key]));
  slider?.addEventListener("input", () => {
    const value = tidy(Math.round(Number(slider.value) / step) * step);
    if (String(value) === shown) return;
    write(value);
    set(value);
  });
  return {
    element: field,
    ...(slider && { slider }),
    show(now, isAhead) {
      const next = now as NumberPart;
      step = next.step;
      if (slider && next.slider) setProps(slider, { ...next.slider });
      // What a person is typing stays.
      const isTyping = field === document.activeElement && field.value !== shown;
      if (!isAhead && !isTyping) write(next.value);
    },
  };
};

const makeSwitch: Make<Extract<Part, { kind: "switch" }>> = (_part, id, set) => {
  const box = focusable(html("input", { id, type: "checkbox" }));
  box.addEventListener("change", () => set(box.checked));
  return {
    element: box,
    show(now, isAhead) {
      if (!isAhead) box.checked = now.value === true;
    },
  };
};

const makeChoice: Make<ChoicePart> = (part, id, set) => {
  const options = part.options.map((label, i) => html("option", { value: i }, label));
  const list = focusable(html("select", { id }, ...options));
  list.addEventListener("change", () => set(list.selectedIndex));
  return {
    element: list,
    show(now, isAhead) {
      if (!isAhead) list.selectedIndex = now.value as number;
    },
  };
};

const makeText: Make<Extract<Part, { kind: "text" }>> = (_part, id, set) => {
  const field = focusable(html("input", { id, type: "text", autocomplete: "off" }));
  field.setAttribute("spellcheck", "false");
  let shown = "";
  onCommit(field, () => {
    if (field.value === shown) return;
    shown = field.value;
    set(shown);
  });
  return {
    element: field,
    show(now, isAhead) {
      const isTyping = field === document.activeElement && field.value !== shown;
      if (!isAhead && !isTyping) field.value = shown = now.value as string;
    },
  };
};

export function makeField(part: Part, id: string, set: (value: unknown) => void): Field {
  switch (part.kind) {
    case "number":
      return makeNumber(part, id, set);
    case "switch":
      return makeSwitch(part, id, set);
    case "choice":
      return makeChoice(part, id, set);
    case "text":
      return makeText(part, id, set);
  }
}

/** Calls when a person is done typing; some notebooks keep Enter from causing "change". */
function onCommit(field: HTMLInputElement, call: () => void): void {
  field.addEventListener("change", call);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") call();
  });
}

/** Without the dust that adding steps leaves. */
function tidy(value: number): number {
  return Number(value.toPrecision(10));
}
