// What torch says of every known tensor at this step, and what of it is new.
import type { Context } from "./context";
import { html } from "./dom";
import type { Steps } from "./steps";
import { makeTable } from "./table";
import { inOrder } from "./timeline";

/** Characters above which an old value is not repeated beside the new one. */
const SHORT = 16;

export function makeTensors(context: Context, steps: Steps): HTMLElement {
  const { store, prefix, signal } = context;
  const table = makeTable(context, "gradviz-tensor-table");
  const heading = html("div", { class: "gradviz-heading", id: `${prefix}-tensors` }, "Tensors");
  const none = html("p", { class: "is-quiet" }, "No tensor is known yet.");
  const element = html("div", { class: "gradviz-tensors", role: "group" }, heading, none);
  element.setAttribute("aria-labelledby", heading.id);
  element.append(table.element);
  const head = table.element.querySelector("thead");
  if (head && "ResizeObserver" in globalThis) {
    const observer = new ResizeObserver(() => {
      table.element.style.setProperty("--head", `${head.offsetHeight}px`);
    });
    observer.observe(head);
    signal.addEventListener("abort", () => observer.disconnect());
  }

  store.watch(["timeline"], () => {
    const timeline = store.get("timeline");
    element.hidden = !timeline;
    if (!timeline) return;
    // Room for all rows there will be, so that stepping does not move the page.
    element.style.setProperty("--rows", String(Math.max(1, timeline.mostTensors)));
  });
  store.watch(["facts"], () => {
    const timeline = store.get("timeline");
    if (!timeline) return;
    const { tensors } = timeline.moment(store.get("at"));
    const columns = timeline.wire.tensor_columns;
    const rows = inOrder(tensors).map(([id, cells]) => ({ id, cells }));
    none.hidden = rows.length > 0;
    table.show({ title: `Tensors at ${steps.count}`, columns, rows });
  });
  store.watch(["facts", "detail"], () => {
    const timeline = store.get("timeline");
    if (!timeline) return;
    const { tensors } = timeline.moment(store.get("at"));
    const before = steps.visible[steps.place - 1];
    const known = before === undefined ? tensors : timeline.moment(before).tensors;
    for (const [id, cells] of tensors) mark(table.row(id), cells, known.get(id));
  });
  return element;
}

/** Marks what differs from the step before, in words beside the colour. */
function mark(
  row: HTMLElement | undefined,
  cells: readonly string[],
  before: readonly string[] | undefined,
): void {
  for (const [i, cell] of [...(row?.children ?? [])].entries()) {
    cell.querySelector(".gradviz-was")?.remove();
    const was = before?.[i];
    const changed = before ? was !== cells[i] : i === 0;
    cell.classList.toggle("is-changed", changed);
    if (!changed) continue;
    const words = !before ? "new" : was && was.length <= SHORT ? `was ${was}` : "changed";
    cell.append(html("span", { class: "gradviz-was" }, words));
  }
}
