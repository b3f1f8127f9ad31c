// A line of Python as elements: with its keywords, and wrapped where a person would.
import { html } from "./dom";
import { tokensOf } from "./python_tokens";

/** Besides at spaces a line may be wrapped after an opening bracket or a comma, and before a dot. */
const WRAPS = /(?<=[([{,])(?=\S)|(?<=[\w)\]])(?=\.\D)/;

export function codeElements(line: string): Node[] {
  return tokensOf(line).map(({ kind, text }) => tokenElement(kind, text));
}

function tokenElement(kind: string, text: string): Node {
  if (kind) return html("span", { class: `gradviz-py-${kind}` }, text);
  const pieces = document.createDocumentFragment();
  text.split(WRAPS).forEach((piece, i) => {
    pieces.append(...(i ? [html("wbr")] : []), piece);
  });
  // What follows the last character is the next token's.
  if (/[([{,]$/.test(text)) pieces.append(html("wbr"));
  return pieces;
}
