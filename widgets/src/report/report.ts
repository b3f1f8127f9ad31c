// What audit, memory and compare found: sentences, figures and tables, above the picture.

import type { Rows } from "../documents/parts";
import { isReport, type ReportDocument } from "../documents/report";
import { focusable, html } from "../lib/dom";
import type { PanelContext } from "../panel_context";
import { partElements } from "../parts/parts";
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

function partsOf(context: PanelContext, { parts }: ReportDocument): HTMLElement[] {
  const { prefix } = context;
  const head = html("div", { class: "gradviz-findings" }, ...partElements(parts, context));
  const figures = parts
    .filter((part) => part.is === "Image")
    .map((part, i) => ({ label: part.caption, content: makeFigure(context, part, i) }));
  const tables = parts
    .filter((part) => part.is === "Rows")
    .map((part) => {
      const many = part.rows.filter((row) => !isBlock(row)).length;
      const label = `${part.caption} ${many ? `(${many})` : ""}`.trim();
      return { label, content: tableOf(context, part) };
    });
  const beside = html("div", { class: "gradviz-evidence" });
  if (figures.length) beside.append(makeSections(figures, "Figures", `${prefix}-figures`));
  if (tables.length) beside.append(makeSections(tables, "Tables", `${prefix}-tables`));
  return [head, beside];
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

function tableOf(context: PanelContext, table: Rows): HTMLElement {
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
