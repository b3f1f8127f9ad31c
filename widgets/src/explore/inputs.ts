// The inputs of a function: for each parameter its name, its fields, its switches, and its gradient.
import type { Control, Exploration, Part } from "../documents/exploration";
import { html } from "../lib/dom";
import type { PanelContext } from "../panel_context";
import { type Field, makeField } from "./fields";
import type { Requests } from "./requests";

export function makeInputs(context: PanelContext, requests: Requests) {
  const element = html("fieldset", { class: "gradviz-fields" });
  let fields: Field[][] = [];
  let gradients: HTMLElement[] = [];
  let made: readonly Control[] = [];

  const build = (controls: readonly Control[]) => {
    made = controls;
    fields = controls.map((control, i) =>
      control.parts.map((part, number) =>
        makeField(part, `${context.prefix}-input-${i}-${number}`, (value) =>
          requests.set([control.name, number, value]),
        ),
      ),
    );
    gradients = controls.map((_control, i) => {
      const shown = html("span", { class: "gradviz-derivative" });
      context.tooltip.attach(shown, () => made[i]?.gradient?.tip ?? "");
      return shown;
    });
    element.replaceChildren(
      ...controls.map((control, i) =>
        rowOf(context, control, fields[i] ?? [], gradients[i] as HTMLElement),
      ),
    );
  };

  return {
    element,
    show({ controls }: Exploration) {
      if (!isSame(controls, made)) build(controls);
      made = controls;
      controls.forEach((control, i) => {
        showGradient(gradients[i], control);
        control.parts.forEach((part, number) => {
          fields[i]?.[number]?.show(part, requests.isAhead(control.name, number));
        });
      });
    },
    /** Sets every input to its first value. */
    reset() {
      made.forEach(({ parts }, i) => {
        parts.forEach((part, number) => {
          fields[i]?.[number]?.show({ ...part, value: part.first } as Part, false);
        });
      });
      const first = ({ name, parts }: Control) =>
        parts.map((part, number) => [name, number, part.first] as const);
      requests.set(...made.flatMap(first));
    },
  };
}

function rowOf(
  context: PanelContext,
  control: Control,
  fields: readonly Field[],
  gradient: HTMLElement,
): HTMLElement {
  const { name, note, parts } = control;
  const switches: HTMLElement[] = [];
  const numbers: HTMLElement[] = [];
  const sliders: HTMLElement[] = [];
  parts.forEach((part, number) => {
    const { element, slider } = fields[number] as Field;
    if (part.kind === "switch") switches.push(switchOf(context, part, element));
    else numbers.push(element);
    if (slider) sliders.push(slider);
  });
  const row = html("div", { class: "gradviz-control" });
  const isSwitch = parts.length === 1 && switches.length === 1;
  if (isSwitch && !note) {
    row.append(...switches);
    return row;
  }
  const [first] = numbers;
  row.append(...switches);
  if (first && numbers.length === 1) {
    row.append(html("label", { class: "gradviz-name", for: first.id }, name), first);
  } else {
    parts.forEach((part, i) => {
      if (part.kind !== "switch") fields[i]?.element.setAttribute("aria-label", part.label);
    });
    const grid = html("div", { class: "gradviz-matrix" }, ...numbers);
    grid.style.setProperty("--columns", String(control.columns));
    const words = html("span", { class: "is-quiet" }, note);
    row.append(html("span", { class: "gradviz-name" }, name), note ? words : grid);
  }
  row.append(gradient, ...sliders);
  return row;
}

/** The label and the value of a gradient; both stay where they are while a slider is dragged. */
function showGradient(element: HTMLElement | undefined, { gradient }: Control): void {
  if (!element) return;
  element.hidden = gradient === null;
  if (!gradient) return;
  const label = html("span", { class: "is-quiet" }, gradient.label);
  element.replaceChildren(label, " ", html("strong", {}, gradient.value));
}

/** A check box with its words; that of one input alone is its bar, and says them on hover. */
function switchOf(context: PanelContext, part: Part, box: HTMLElement): HTMLElement {
  const isBar = part.text !== part.label;
  if (isBar) box.setAttribute("aria-label", part.label);
  const words = html("span", { class: isBar ? "gradviz-hidden" : "" }, part.text);
  const label = html(
    "label",
    { class: `gradviz-switch ${isBar ? "is-bar" : ""}`.trim() },
    box,
    words,
  );
  const tip = isBar ? `${part.text}: ${part.tip}` : part.tip;
  if (tip) context.tooltip.attach(label, () => tip);
  if (isBar) context.tooltip.attach(box, () => tip);
  return label;
}

/** Whether the same fields serve both; only values and ranges may differ. */
function isSame(some: readonly Control[], others: readonly Control[]): boolean {
  const form = (controls: readonly Control[]) =>
    JSON.stringify(controls.map(({ name, parts }) => [name, parts.map((part) => part.kind)]));
  return form(some) === form(others);
}
