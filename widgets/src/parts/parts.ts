// Parts as elements. They know nothing of what consists of them.
import type { Advice, FieldList, Part } from "../documents/parts";
import type { Sentence } from "../documents/sentence";
import { makeButton } from "../lib/button";
import { focusable, html } from "../lib/dom";
import { inlineCode } from "../lib/inline_code";
import { codeElements } from "../lib/python_code";
import type { PanelContext } from "../panel_context";
import { richText } from "../player/rich_text";
import { outcomeTables } from "./outcomes";

/** What buttons need. */
type Tools = Pick<PanelContext, "announce" | "tooltip">;

/** Without tools nothing can be copied. Who shows tables and pictures makes them. */
export function partElements(parts: readonly Part[], tools?: Tools): HTMLElement[] {
  return parts.flatMap((part) => elementsOf(part, tools));
}

function elementsOf(part: Part, tools: Tools | undefined): HTMLElement[] {
  switch (part.is) {
    case "Paragraph": {
      const css = part.look ? `is-${part.look}` : undefined;
      return [html("p", { class: css }, ...wordElements(part.words))];
    }
    case "CodeBlock":
      return [html("pre", {}, part.lines.join("\n"))];
    case "ItemList": {
      const items = part.items.map((item) => html("li", {}, ...wordElements(item)));
      if (!part.name) return [html("ul", {}, ...items)];
      const props = { class: "gradviz-numbered", "aria-label": `${capital(part.name)}s` };
      return [html("ol", props, ...items)];
    }
    case "FieldList":
      return [html("dl", { class: "gradviz-facts" }, ...part.fields.map(fieldElement))];
    case "Advice":
      return [adviceElement(part, tools)];
    case "Details": {
      const summary = focusable(html("summary", { class: "is-quiet" }, part.summary));
      const inner = partElements(part.parts, tools);
      return [html("details", { class: "gradviz-more" }, summary, ...inner)];
    }
    case "Outcomes":
      return outcomeTables(part.outcomes);
    default:
      return [];
  }
}

/** Words with code between backticks, and a button for each term. */
function wordElements(words: Sentence): (Node | string)[] {
  return richText(words).flatMap((part) => (typeof part === "string" ? inlineCode(part) : [part]));
}

function fieldElement({ name, values, code }: FieldList["fields"][number]): HTMLElement {
  const shown = values.map((words, i) => {
    const source = i === 0 && code ? [" ", html("code", {}, code)] : [];
    return html("dd", {}, ...wordElements(words), ...source);
  });
  return html("div", {}, html("dt", {}, name), ...shown);
}

function adviceElement({ name, does, changes }: Advice, tools: Tools | undefined): HTMLElement {
  const label = capital(name);
  const words = html("p", {}, html("strong", {}, `${label}: `), ...wordElements(does));
  const element = html("div", { class: "gradviz-advice" }, words);
  changes.forEach(({ where, lines, old }, i) => {
    const colon = lines.length ? ":" : "";
    if (where.length)
      element.append(html("p", { class: "is-quiet" }, ...wordElements(where), colon));
    if (!lines.length && !old) return;
    const block = codeElement(lines, `${label} as code`, old);
    const part = changes.length > 1 ? `, change ${i + 1}` : "";
    const made = block.querySelector("code") ?? block;
    const copied = [lines.join("\n"), `Copy ${name}${part}`, made] as const;
    const copy = tools && lines.length ? [makeCopyButton(tools, ...copied)] : [];
    element.append(html("div", { class: "gradviz-code-block" }, block, ...copy));
  });
  return element;
}

/** Python, reached by keyboard since it may scroll; above it the line that it replaces. */
export function codeElement(lines: readonly string[], label: string, old = ""): HTMLElement {
  const before = old ? [html("del", {}, ...codeElements(old))] : [];
  const code = lines.flatMap((line, i) => [...(i ? ["\n"] : []), ...codeElements(line)]);
  const props = { role: "group", "aria-label": label };
  return focusable(html("pre", props, ...before, html("code", {}, ...code)), 0);
}

const capital = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

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
