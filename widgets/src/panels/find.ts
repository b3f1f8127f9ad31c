// Find: a field, the number of matches, Enter for the next one.

import { claim, focusable, html } from "../lib/dom";
import { icon } from "../lib/icons";
import { findItems } from "../model/search";
import type { PanelContext } from "../panel_context";

/** Nodes of a large graph that are not listed. */
export interface More {
  readonly hasMore: boolean;
  /** How many nodes a query finds beside those that are listed now. */
  left(query: string): number;
  find(query: string): Promise<void>;
}

export interface Find {
  readonly element: HTMLElement;
  focus(): void;
}

/** Milliseconds without a key after which the kernel is asked for nodes that are not listed. */
const PAUSE = 300;

export function makeFind({ store, announce, prefix, signal }: PanelContext, more: More): Find {
  const id = `${prefix}-find`;
  const input = focusable(
    html("input", {
      id,
      type: "text",
      placeholder: "Find",
      autocomplete: "off",
      spellcheck: "false",
    }),
  );
  const count = html("span", { class: "gradviz-count", "aria-hidden": "true" });
  const label = html("label", { for: id, class: "gradviz-hidden" }, "Find in the graph");
  const element = html("div", { class: "gradviz-find" }, icon("find"), label, input, count);

  const matches = () => findItems(store.get("content").items, store.get("query"));
  const place = () => matches().findIndex((item) => item.id === store.get("selected"));

  const go = async (step: 1 | -1) => {
    if (!matches().length && more.hasMore) await more.find(store.get("query"));
    const found = matches();
    if (!found.length) return announce(store.get("query") ? "no match" : "");
    const at = place();
    const to =
      at < 0 ? (step > 0 ? 0 : found.length - 1) : (at + step + found.length) % found.length;
    const item = found[to];
    if (!item) return;
    store.set("selected", item.id);
    const where = item.is_drawn === false ? ", not drawn" : "";
    announce(`match ${to + 1} of ${found.length}: ${item.label}${where}`);
  };

  let timer: ReturnType<typeof setTimeout> | undefined;
  signal.addEventListener("abort", () => clearTimeout(timer));
  input.addEventListener("input", () => {
    store.set("query", input.value);
    clearTimeout(timer);
    if (more.hasMore) timer = setTimeout(() => void more.find(input.value), PAUSE);
    const { length } = matches();
    if (input.value.trim()) announce(length === 1 ? "1 match" : `${length || "no"} matches`);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      claim(event);
      void go(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape" && input.value) {
      claim(event);
      input.value = "";
      store.set("query", "");
    }
  });
  store.watch(["query", "selected", "content"], () => {
    const { length } = matches();
    const at = place();
    const left = more.left(store.get("query"));
    const all = left ? `${length} of ${(length + left).toLocaleString("en")}` : String(length);
    const shown = at < 0 ? all : `${at + 1}/${all}`;
    count.textContent = store.get("query").trim() ? shown : "";
    element.classList.toggle("is-empty", store.get("query").trim() !== "" && !length);
  });
  return { element, focus: () => input.select() };
}
