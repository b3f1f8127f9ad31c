// What audit, memory and compare found: sentences, figures and tables, above the picture.
import type { Context } from "./context";
import { html } from "./dom";
import { makeFigure } from "./figure";
import { isReport, type ReportWire } from "./report_wire";
import { makeSections } from "./sections";
import { makeSortedTable } from "./sorted_table";

export function makeReport(context: Context): HTMLElement {
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

function partsOf(context: Context, wire: ReportWire): HTMLElement[] {
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

function tableOf(context: Context, table: ReportWire["tables"][number]): HTMLElement {
  if (!table.rows.length) return html("p", { class: "is-quiet" }, "No rows.");
  const made = makeSortedTable(context, table);
  return table.more ? html("div", {}, made, html("p", { class: "is-quiet" }, table.more)) : made;
}
