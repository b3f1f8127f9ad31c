// The same facts as a table: what a screen reader and a hurried reader use.
import type { Context } from "./context";
import { findItems } from "./find";
import { makeTable } from "./table";

export function makeOutline(context: Context): HTMLElement {
  const { store } = context;
  const table = makeTable(context, "gradviz-outline");

  store.watch(["facts"], () => {
    const { outline, title } = store.get("facts");
    table.show({ title, columns: outline.columns, rows: outline.rows });
  });
  store.watch(["facts", "selected", "panel"], () => {
    // Measuring would lay out a table that nobody sees.
    if (store.get("panel") === "outline") table.reveal(store.get("selected"));
  });
  store.watch(["facts", "query"], () => {
    const { items, outline } = store.get("facts");
    const found = new Set(findItems(items, store.get("query")).map(({ id }) => id));
    for (const { id } of outline.rows) table.row(id)?.classList.toggle("is-match", found.has(id));
  });
  return table.element;
}
