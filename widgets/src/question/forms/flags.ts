// A table whose cells are filled in, each with one of a few texts; it then shows itself corrected.
import type { FormData } from "../../documents/question";
import { focusable, html } from "../../lib/dom";
import { inlineCode } from "../../lib/inline_code";
import type { FormKind } from "./form";
import { mark } from "./options";

interface TableData extends FormData {
  readonly columns: readonly string[];
  /** Of each row the choices of each column; none where it has no such cell. */
  readonly rows: readonly {
    readonly name: string;
    readonly cells: readonly (readonly string[])[];
  }[];
}

type Filled = Readonly<Record<string, Readonly<Record<string, string>>>>;

interface Cell {
  readonly row: string;
  readonly column: string;
  readonly box: HTMLSelectElement;
  readonly element: HTMLElement;
}

/** Shown where nothing is chosen yet. */
const OPEN = "?";

export const flags: FormKind<TableData> = {
  make({ changed }, { columns, rows }) {
    const cells: Cell[] = [];
    const cellOf = (row: string, column: string, choices: readonly string[]) => {
      if (!choices.length) return html("td");
      const options = ["", ...choices].map((value) => html("option", { value }, value || OPEN));
      const box = focusable(html("select", { "aria-label": `${column} of ${row}` }, ...options));
      box.addEventListener("change", changed);
      const note = html("span", { class: "gradviz-verdict" });
      const props = { "data-column": column.replaceAll("`", "") };
      const element = html("td", props, box, note);
      cells.push({ row, column, box, element });
      return element;
    };
    const heads = columns.map((name) => html("th", { scope: "col" }, ...inlineCode(name)));
    const lines = rows.map(({ name, cells: choices }) =>
      html(
        "tr",
        {},
        html("th", { scope: "row" }, ...inlineCode(name)),
        ...columns.map((column, i) => cellOf(name, column, choices[i] ?? [])),
      ),
    );
    const table = html(
      "table",
      { class: "gradviz-flags" },
      html("thead", {}, html("tr", {}, html("td"), ...heads)),
      html("tbody", {}, ...lines),
    );
    return {
      // A scrolling region must be reachable by keyboard.
      element: focusable(html("div", { class: "gradviz-flags-frame" }, table), 0),
      answer() {
        if (cells.some(({ box }) => !box.value)) return undefined;
        const filled: Record<string, Record<string, string>> = {};
        for (const { row, column, box } of cells) {
          filled[row] = { ...filled[row], [column]: box.value };
        }
        return filled;
      },
      show(answer) {
        for (const { row, column, box, element } of cells) {
          box.value = (answer as Filled | undefined)?.[row]?.[column] ?? "";
          box.disabled = false;
          mark(element, "");
        }
      },
      reveal(key, answer) {
        for (const { row, column, box, element } of cells) {
          const right = (key as Filled)[row]?.[column];
          const isRight = right === (answer as Filled)[row]?.[column];
          box.disabled = true;
          mark(element, isRight ? "right" : "wrong", isRight ? "✓" : `✗ ${right}`);
        }
      },
    };
  },
  judge({ rows, columns }, key, answer, named) {
    const wrong = new Set<string>();
    for (const { name, cells } of rows) {
      columns.forEach((column, i) => {
        if (!cells[i]?.length) return;
        if ((key as Filled)[name]?.[column] === (answer as Filled)[name]?.[column]) return;
        const names = [`${name} ${column}`, column, name];
        wrong.add(names.find((one) => named.includes(one)) ?? `${name} ${column}`);
      });
    }
    return { right: !wrong.size, wrong: [...wrong] };
  },
};
