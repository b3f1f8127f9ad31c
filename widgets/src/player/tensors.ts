// The table of all known tensors at this step, with what changed.

import type { Cell } from "../documents/table";
import { html, onResize } from "../lib/dom";
import { inOrder } from "../model/timeline";
import type { PanelContext } from "../panel_context";
import { Table } from "../table/table";
import type { StepCursor } from "./step_cursor";

/** Characters above which a cell may wrap. */
const LONG = 30;
/** Longer old values are not repeated beside the new one. */
const SHORT = 16;

export function makeTensors(context: PanelContext, cursor: StepCursor): HTMLElement {
  const { store, signal } = context;
  const table = new Table(context, "gradviz-tensor-table", LONG);
  const none = html("p", { class: "is-quiet" }, "No tensor is known yet.");
  const element = html("div", { class: "gradviz-tensors" }, none);
  element.append(table.element);
  const head = table.element.querySelector("thead");
  const measure = () => table.element.style.setProperty("--head", `${head?.offsetHeight}px`);
  if (head) onResize(head, signal, measure);

  store.watch(["timeline"], () => {
    // Room for the rows of all steps, so that stepping moves nothing.
    const rows = store.get("timeline")?.mostTensors ?? 0;
    element.style.setProperty("--rows", String(Math.max(1, rows)));
  });
  store.watch(["content", "visible", "panel"], () => {
    const timeline = store.get("timeline");
    // A table that nobody sees is not made.
    if (!timeline || store.get("panel") !== "tensors") return;
    const { tensors } = timeline.state(store.get("at"));
    const before = cursor.visible[cursor.place - 1];
    const known = before === undefined ? tensors : timeline.state(before).tensors;
    const rows = inOrder(tensors).map(([id, cells]) => ({
      id,
      cells: noted(cells, known.get(id)),
    }));
    none.hidden = rows.length > 0;
    const columns = timeline.recording.tensor_columns.map((name) => ({ name }));
    table.show({ caption: `Tensors at ${cursor.count}`, columns, rows });
  });
  return element;
}

/** The cells; changes since the step before are marked in words and by colour. */
function noted(cells: readonly string[], before: readonly string[] | undefined): Cell[] {
  return cells.map((text, i) => {
    const was = before?.[i];
    const changed = before ? was !== text : i === 0;
    if (!changed) return { text };
    return { text, note: !before ? "new" : was && was.length <= SHORT ? `was ${was}` : "changed" };
  });
}
