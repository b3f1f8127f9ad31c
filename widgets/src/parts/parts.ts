// Parts as elements. They know nothing of what consists of them.
import type { Advice, Part } from "../documents/parts";
import type { Sentence } from "../documents/sentence";
import { makeButton } from "../lib/button";
import { focusable, html } from "../lib/dom";
import { inlineCode } from "../lib/inline_code";
import { codeElements } from "../lib/python_code";
import type { PanelContext } from "../panel_context";
import { richText } from "../player/rich_text";

/** What buttons need. */
type Tools = Pick<PanelContext, "announce" | "tooltip">;

export function partElements(tools: Tools, parts: readonly Part[]): HTMLElement[] {
  return parts.flatMap((part) => elementOf(tools, part) ?? []);
}

/** Tables and pictures need more than others: who shows them makes them. */
function elementOf(tools: Tools, part: Part): HTMLElement | undefined {
  switch (part.is) {
    case "Paragraph":
      return html(
        "p",
        { class: part.look ? `is-${part.look}` : undefined },
        ...wordElements(part.words),
      );
    case "CodeBlock":
      return html("pre", {}, part.lines.join("\n"));
    case "ItemList":
      return html("ul", {}, ...part.items.map((item) => html("li", {}, ...wordElements(item))));
    case "FieldList":
      return html("dl", { class: "gradviz-facts" }, ...part.fields.map(fieldElement));
    case "Advice":
      return adviceElement(tools, part);
    case "Details": {
      const summary = focusable(html("summary", { class: "is-quiet" }, part.summary));
      return html(
        "details",
        { class: "gradviz-more" },
        summary,
        ...partElements(tools, part.parts),
      );
    }
    default:
      return undefined;
  }
}

/** Words with code between backticks, and a button for each term. */
function wordElements(words: Sentence): (Node | string)[] {
  return richText(words).flatMap((part) => (typeof part === "string" ? inlineCode(part) : [part]));
}

function fieldElement({
  name,
  values,
  code,
}: {
  readonly name: string;
  readonly values: readonly Sentence[];
  readonly code: string;
}): HTMLElement {
  const shown = values.map((words, i) => {
    const source = i === 0 && code ? [" ", html("code", {}, code)] : [];
    return html("dd", {}, ...wordElements(words), ...source);
  });
  return html("div", {}, html("dt", {}, name), ...shown);
}

function adviceElement(tools: Tools, { name, does, changes }: Advice): HTMLElement {
  const label = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const words = html("p", {}, html("strong", {}, `${label}: `), ...wordElements(does));
  const element = html("div", { class: "gradviz-advice" }, words);
  changes.forEach(({ where, lines }, i) => {
    const colon = lines.length ? ":" : "";
    if (where.length)
      element.append(html("p", { class: "is-quiet" }, ...wordElements(where), colon));
    if (!lines.length) return;
    const block = focusable(html("pre", { "aria-label": `${label} as code`, role: "group" }), 0);
    const code = lines.flatMap((line, at) => [...(at ? ["\n"] : []), ...codeElements(line)]);
    block.append(html("code", {}, ...code));
    const part = changes.length > 1 ? `, change ${i + 1}` : "";
    const copy = makeCopyButton(tools, lines.join("\n"), `Copy ${name}${part}`, block);
    element.append(html("div", { class: "gradviz-code-block" }, block, copy));
  });
  return element;
}

/** Where the clipboard is not allowed, `source` is selected to be copied by hand. */
export function makeCopyButton(
  tools: Tools,
  text: string,
  label: string,
  source?: HTMLElement,
): HTMLButtonElement {
  const run = async () => {
    try {
      await navigator.clipboard.writeText(text);
      tools.announce("copied");
    } catch {
      if (source) getSelection()?.selectAllChildren(source);
      const selected = source ? "; the code is selected" : "";
      tools.announce(`the browser does not allow copying${selected}`);
    }
  };
  return makeButton(tools, { label, icon: "copy", run: () => void run() });
}
