// Find: a field, the number of matches, Enter for the next one.
import type { Context } from "./context";
import { focusable, html, icon, take } from "./dom";
import type { Item } from "./wire";

export function findItems(items: readonly Item[], query: string): readonly Item[] {
  const wanted = query.trim().toLowerCase();
  return wanted ? items.filter((item) => item.find.includes(wanted)) : [];
}

export interface Find {
  readonly element: HTMLElement;
  focus(): void;
}

export function makeFind({ store, announce, prefix }: Context): Find {
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

  const matches = () => findItems(store.get("facts").items, store.get("query"));
  const place = () => matches().findIndex((item) => item.id === store.get("selected"));

  const go = (step: 1 | -1) => {
    const found = matches();
    if (!found.length) return announce(store.get("query") ? "no match" : "");
    const at = place();
    const to =
      at < 0 ? (step > 0 ? 0 : found.length - 1) : (at + step + found.length) % found.length;
    const item = found[to];
    if (!item) return;
    store.set("selected", item.id);
    announce(`match ${to + 1} of ${found.length}: ${item.label}`);
  };

  input.addEventListener("input", () => {
    store.set("query", input.value);
    const { length } = matches();
    if (input.value.trim()) announce(length === 1 ? "1 match" : `${length || "no"} matches`);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      take(event);
      go(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape" && input.value) {
      take(event);
      input.value = "";
      store.set("query", "");
    }
  });
  store.watch(["query", "selected", "facts"], () => {
    const { length } = matches();
    const at = place();
    const shown = at < 0 ? String(length) : `${at + 1}/${length}`;
    count.textContent = store.get("query").trim() ? shown : "";
    element.classList.toggle("is-empty", store.get("query").trim() !== "" && !length);
  });
  return { element, focus: () => input.select() };
}
