// What audit, memory and compare found: sentences, figures and tables, above the picture.

import { isReport, type ReportDocument } from "../documents/report";
import { focusable, html } from "../lib/dom";
import type { PanelContext } from "../panel_context";
import { isBlock } from "../table/blocks";
import { Table } from "../table/table";
import { makeFigure } from "./figure";
import { makeSections } from "./sections";

/** Characters above which a cell may wrap. */
const LONG = 24;

export function makeReport(context: PanelContext): HTMLElement {
  const { store } = context;
  const element = html("div", { class: "gradviz-report" });
  let shown: object | undefined;
  store.watch(["wire"], () => {
    const wire = store.get("wire");
    element.hidden = !isReport(wire);
    if (wire === shown) return;
    shown = wire;
    element.replaceChildren(...(isReport(wire) ? partsOf(context, wire) : []));
  });
  return element;
}

function partsOf(context: PanelContext, wire: ReportDocument): HTMLElement[] {
  const { prefix } = context;
  const title = html("p", { class: "gradviz-title" }, wire.title);
  const sentences = html("ul", {}, ...wire.sentences.map((words) => html("li", {}, words)));
  const head = html("div", { class: "gradviz-findings" }, title);
  if (wire.sentences.length) head.append(sentences);
  const figures = wire.figures.map((figure, i) => ({
    label: figure.caption,
    content: makeFigure(context, figure, i),
  }));
  const tables = wire.tables.map((table) => ({
    label: `${table.caption} ${table.rows.length ? `(${rowsOf(table)})` : ""}`.trim(),
    content: tableOf(context, table),
  }));
  const beside = html("div", { class: "gradviz-evidence" });
  if (figures.length) beside.append(makeSections(figures, "Figures", `${prefix}-figures`));
  if (tables.length) beside.append(makeSections(tables, "Tables", `${prefix}-tables`));
  return [head, beside];
}

function rowsOf(table: ReportDocument["tables"][number]): number {
  return table.rows.filter((row) => !isBlock(row)).length;
}

/** What opens or closes all blocks of a table, and how many rows are shown. */
function openersOf(table: Table): HTMLElement {
  const open = focusable(html("button", { type: "button" }, "Open all"));
  const close = focusable(html("button", { type: "button" }, "Close all"));
  const count = html("span", { class: "is-quiet" });
  open.addEventListener("click", () => table.openAll());
  close.addEventListener("click", () => table.closeAll());
  const words = (n: number) => n.toLocaleString("en");
  table.changed = () => {
    const [shown, all] = table.counts;
    const some = shown === all ? `all ${words(all)}` : `${words(shown)} of ${words(all)}`;
    count.textContent = `${some} rows shown`;
  };
  table.changed();
  return html("div", { class: "gradviz-openers" }, open, close, count);
}

function tableOf(context: PanelContext, table: ReportDocument["tables"][number]): HTMLElement {
  if (!table.rows.length) return html("p", { class: "is-quiet" }, "No rows.");
  const made = new Table(context, "gradviz-report-table", LONG);
  made.show(table);
  context.store.watch(["selected"], () => made.reveal());
  const { element } = made;
  const rows = html("div", { class: "gradviz-rows" }, element);
  if (table.rows.some(isBlock)) rows.prepend(openersOf(made));
  if (table.more) rows.append(html("p", { class: "is-quiet" }, table.more));
  return rows;
}
