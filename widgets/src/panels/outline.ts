// The facts of the graph as a table, in pages where it is long.

import type { GraphContent } from "../documents/graph";
import { makeButton } from "../lib/button";
import { html } from "../lib/dom";
import { findItems } from "../model/search";
import type { PanelContext } from "../panel_context";
import { Table } from "../table/table";

/** Characters above which a cell may wrap. */
const LONG = 30;
/** Rows of a page: more of them make every change slow. */
const PAGE = 500;

export function makeOutline(context: PanelContext): HTMLElement {
  const { store } = context;
  const table = new Table(context, "gradviz-outline", LONG);
  let page = 0;
  let shown: { readonly content: GraphContent; readonly page: number } | undefined;

  const rows = () => store.get("content").outline.rows;
  const last = () => Math.max(0, Math.ceil(rows().length / PAGE) - 1);
  const turn = (to: number) => {
    page = Math.max(0, Math.min(to, last()));
    refresh();
    context.announce(count.textContent ?? "");
  };
  const button = (label: string, step: 1 | -1) =>
    makeButton(context, {
      label: `${label} rows`,
      words: label,
      hint: `${label} ${PAGE} rows`,
      run: () => turn(page + step),
    });
  const [previous, next] = [button("Previous", -1), button("Next", 1)];
  const count = html("span");
  const pager = html("div", { class: "gradviz-pager", hidden: true }, previous, next, count);
  const element = html("div", { class: "gradviz-pages" }, pager, table.element);

  /** The page of the selected row, else the one that is shown. */
  function follow(): void {
    const selected = store.get("selected");
    const at = selected ? rows().findIndex(({ id }) => id === selected) : -1;
    page = at < 0 ? Math.min(page, last()) : Math.floor(at / PAGE);
  }

  function refresh(): void {
    const content = store.get("content");
    if (shown?.content === content && shown.page === page) return;
    shown = { content, page };
    const { outline, title } = content;
    const [from, to] = [page * PAGE, Math.min((page + 1) * PAGE, outline.rows.length)];
    const numbers = [from + 1, to, outline.rows.length].map((n) => n.toLocaleString("en"));
    count.textContent = `rows ${numbers[0]} to ${numbers[1]} of ${numbers[2]}`;
    pager.hidden = last() === 0;
    previous.setAttribute("aria-disabled", String(page === 0));
    next.setAttribute("aria-disabled", String(page === last()));
    table.show({
      caption: title,
      columns: outline.columns.map((name) => ({ name })),
      rows: outline.rows.slice(from, to).map(({ id, cells }) => ({
        id,
        cells: cells.map((text) => ({ text })),
      })),
    });
    mark();
  }

  function mark(): void {
    const found = findItems(store.get("content").items, store.get("query"));
    table.showMatches(new Set(found.map(({ id }) => id)));
  }

  store.watch(["content", "selected", "panel"], () => {
    // A table that nobody sees is not made.
    if (store.get("panel") !== "outline") return;
    follow();
    refresh();
    // Once the panel is seen: before it is, there is nothing to scroll.
    queueMicrotask(() => table.reveal());
  });
  store.watch(["content", "query", "panel"], mark);
  return element;
}
