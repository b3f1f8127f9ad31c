// What audit, memory and compare found: sentences, figures and tables, above the picture.

import { isReport, type ReportDocument } from "../documents/report";
import { html } from "../lib/dom";
import type { PanelContext } from "../panel_context";
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
    label: `${table.caption} ${table.rows.length ? `(${table.rows.length})` : ""}`.trim(),
    content: tableOf(context, table),
  }));
  const beside = html("div", { class: "gradviz-evidence" });
  if (figures.length) beside.append(makeSections(figures, "Figures", `${prefix}-figures`));
  if (tables.length) beside.append(makeSections(tables, "Tables", `${prefix}-tables`));
  return [head, beside];
}

function tableOf(context: PanelContext, table: ReportDocument["tables"][number]): HTMLElement {
  if (!table.rows.length) return html("p", { class: "is-quiet" }, "No rows.");
  const made = new Table(context, "gradviz-report-table", LONG);
  made.show(table);
  context.store.watch(["selected"], () => made.reveal());
  const { element } = made;
  const rows = html("div", { class: "gradviz-rows" }, element);
  if (table.more) rows.append(html("p", { class: "is-quiet" }, table.more));
  return rows;
}
