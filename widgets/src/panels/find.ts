// Find: a field, the number of matches, Enter for the next one.

import type { Item } from "../documents/graph";
import type { FoldActions } from "../graph/fold_actions";
import type { GraphPanel } from "../graph/graph_panel";
import { claim, focusable, html } from "../lib/dom";
import { icon } from "../lib/icons";
import { countWords, findItems, isBox } from "../model/search";
import type { PanelContext } from "../panel_context";

/** Finds nodes of a large graph that are not listed. */
type More = Pick<FoldActions, "hasMore" | "left" | "find">;
/** Where the focus goes from the field. */
type Goal = Pick<GraphPanel, "reach" | "focus">;

export interface Find {
  readonly element: HTMLElement;
  focus(): void;
  /** Goes to the next match, or with -1 to the one before. */
  go(step: 1 | -1): Promise<void>;
}

/** Milliseconds without a key after which the kernel is asked for nodes that are not listed. */
const PAUSE = 300;

export function makeFind(
  { store, announce, prefix, signal }: PanelContext,
  more: More,
  goal: Goal,
): Find {
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
  const counts = (found = matches()) => {
    const boxes = found.filter(isBox).length;
    return { nodes: found.length - boxes, boxes };
  };
  const place = () => matches().findIndex((item) => item.id === store.get("selected"));
  /** Which of its kind the match at a place is: "3/7", "box 1/2". */
  const placeWords = (found: readonly Item[], at: number, sign: string, of = "") => {
    const own = found[at];
    const same = found.filter((item) => own && isBox(item) === isBox(own));
    const number = `${same.indexOf(own as Item) + 1}${sign}${same.length}`;
    return own && isBox(own) ? `box ${number}` : `${number}${of}`;
  };

  let timer: ReturnType<typeof setTimeout> | undefined;
  signal.addEventListener("abort", () => clearTimeout(timer));

  /** How many matches there are; what the kernel has not yet been asked for is not called absent. */
  const matchWords = (isKnown = !more.hasMore) => {
    const { nodes, boxes } = counts();
    if (!nodes && !boxes && !isKnown) return "asks the kernel";
    const words = nodes === 1 ? "1 match" : `${nodes || "no"} matches`;
    return countWords(nodes || !boxes ? words : 0, boxes);
  };
  const ask = async () => {
    const isUnknown = !matches().length && input.value.trim() !== "";
    if ((await more.find(input.value)) && isUnknown) announce(matchWords(true));
  };

  const go = async (step: 1 | -1) => {
    if (!matches().length && more.hasMore) {
      clearTimeout(timer);
      if (!(await more.find(store.get("query")))) return;
    }
    const found = matches();
    if (!found.length) return announce(store.get("query") ? "no match" : "");
    const at = place();
    const to =
      at < 0 ? (step > 0 ? 0 : found.length - 1) : (at + step + found.length) % found.length;
    const item = found[to];
    if (!item) return;
    const reached = goal.reach(item.id);
    const where = item.is_drawn === false ? ", not drawn" : "";
    const words = placeWords(found, to, " of ");
    announce(`${isBox(item) ? words : `match ${words}`}: ${item.label}${where}`);
    await reached;
  };

  input.addEventListener("input", () => {
    store.set("query", input.value);
    clearTimeout(timer);
    if (more.hasMore) timer = setTimeout(() => void ask(), PAUSE);
    if (input.value.trim()) announce(matchWords());
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      claim(event);
      void go(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      claim(event);
      input.value = "";
      store.set("query", "");
      goal.focus();
      // Where no card is, the widget keeps the focus.
      if (document.activeElement === input) {
        input.closest<HTMLElement>(".gradviz-root")?.focus({ preventScroll: true });
      }
    }
  });
  store.watch(["query", "selected", "content"], () => {
    const found = matches();
    const { nodes, boxes } = counts(found);
    const at = place();
    const left = more.left(store.get("query"));
    const of = left ? ` of ${(nodes + left).toLocaleString("en")}` : "";
    const all = countWords(left ? `${nodes}${of}` : nodes, boxes);
    const shown = at < 0 ? all : placeWords(found, at, "/", of);
    count.textContent = store.get("query").trim() ? shown : "";
    element.classList.toggle("is-empty", store.get("query").trim() !== "" && !found.length);
  });
  return { element, go, focus: () => input.select() };
}
