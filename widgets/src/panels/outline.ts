// The facts of the graph as a table.

import type { GraphContent } from "../documents/graph";
import { findItems } from "../model/search";
import type { PanelContext } from "../panel_context";
import { Table } from "../table/table";

/** Characters above which a cell may wrap. */
const LONG = 30;

export function makeOutline(context: PanelContext): HTMLElement {
  const { store } = context;
  const table = new Table(context, "gradviz-outline", LONG);

  let shown: GraphContent | undefined;
  store.watch(["content", "panel"], () => {
    // A table that nobody sees is not made.
    if (store.get("panel") !== "outline" || shown === store.get("content")) return;
    shown = store.get("content");
    const { outline, title } = store.get("content");
    const columns = outline.columns.map((name) => ({ name }));
    const rows = outline.rows.map(({ id, cells }) => ({
      id,
      cells: cells.map((text) => ({ text })),
    }));
    table.show({ caption: title, columns, rows });
  });
  store.watch(["content", "selected", "panel"], () => {
    if (store.get("panel") === "outline") table.reveal();
  });
  store.watch(["content", "query", "panel"], () => {
    const found = findItems(store.get("content").items, store.get("query"));
    table.showMatches(new Set(found.map(({ id }) => id)));
  });
  return table.element;
}
