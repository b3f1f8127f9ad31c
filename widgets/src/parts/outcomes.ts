// What was expected beside what was found.
import type { Outcome } from "../documents/parts";
import { focusable, html } from "../lib/dom";

/** Rows of what is judged that are shown at first. */
const MOST_ROWS = 5;

/** What is judged, a row each; of many those that are wrong first, and the others a click away. */
export function outcomeTables(outcomes: readonly Outcome[]): HTMLElement[] {
  if (outcomes.length <= MOST_ROWS + 1) return [outcomeTable(outcomes)];
  const rows = [...outcomes].sort((one, other) => Number(one.is_right) - Number(other.is_right));
  const rest = rows.slice(MOST_ROWS);
  const right = rest.filter((one) => one.is_right).length;
  const counts = [
    { number: rest.length - right, word: "wrong" },
    { number: right, word: "right" },
  ].flatMap(({ number, word }) => (number ? [`${number} ${word}`] : []));
  const summary = focusable(html("summary", {}, `${rest.length} more: ${counts.join(", ")}`));
  const others = html("details", { class: "gradviz-others" }, summary, outcomeTable(rest));
  return [outcomeTable(rows.slice(0, MOST_ROWS)), others];
}

function outcomeTable(outcomes: readonly Outcome[]): HTMLElement {
  const heads = ["expected", "found"].map((name) => html("th", { scope: "col" }, name));
  heads.unshift(
    html("th", { scope: "col" }, html("span", { class: "gradviz-hidden" }, "what is judged")),
  );
  const rows = outcomes.map(({ what, expected, found, is_right }) =>
    html(
      "tr",
      { class: is_right ? "is-right" : "is-wrong" },
      html(
        "th",
        { scope: "row" },
        html("span", { "aria-hidden": "true" }, is_right ? "✓ " : "✗ "),
        html("span", { class: "gradviz-hidden" }, is_right ? "right: " : "wrong: "),
        html("code", {}, what),
      ),
      html("td", { "data-label": "expected" }, html("code", {}, expected)),
      html("td", { "data-label": "found" }, html("code", {}, found)),
    ),
  );
  return html(
    "table",
    { class: "gradviz-outcomes", "aria-label": "expected and found" },
    html("thead", {}, html("tr", {}, ...heads)),
    html("tbody", {}, ...rows),
  );
}
