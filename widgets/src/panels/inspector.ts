// Details of the selected item, over the graph while there is one; on demand also without a
// selection: those of the step's main item, else the summary of the graph.

import type { DetailSection, GraphContent, Item } from "../documents/graph";
import { isReport } from "../documents/report";
import { callOf, canDraw, drawAround } from "../graph/extent";
import type { FoldActions } from "../graph/fold_actions";
import { makeButton } from "../lib/button";
import { focusable, html } from "../lib/dom";
import { subjectsOf } from "../model/related";
import type { Timeline } from "../model/timeline";
import type { PanelContext } from "../panel_context";

const FOLLOWING = "The main node or tensor of this step. Select one to keep its details here.";

/** Longer values are placed below their label. */
const LONG = 24;
const LONG_LABEL = 14;
/** Links to others of one kind that an item has; Show neighbours shows all. */
const LINKS = 12;

export interface Inspector {
  readonly element: HTMLElement;
  /** Closes it and clears the selection; says whether it was open. */
  close(): boolean;
  /** Opens it, or closes it. */
  toggle(): void;
}

export function makeInspector(context: PanelContext, folds: FoldActions): Inspector {
  const { store, prefix } = context;
  const element = html("div", {
    class: "gradviz-inspector",
    role: "group",
    "aria-label": "Details",
  });
  focusable(element, 0);
  const title = html("div", { class: "gradviz-inspector-title", id: `${prefix}-details` });
  const hint = "Close, and select nothing (Esc)";
  const run = () => void shut();
  const close = makeButton(context, { label: "Close details", icon: "close", hint, run });
  close.tabIndex = -1;
  // Rows of a report that have been opened are read, not the details of their box.
  const isBlock = () =>
    isReport(store.get("wire")) && store.get("unfolding")?.folds.get(store.get("selected"));
  const isOpen = () => store.get("details") || (store.get("selected") !== "" && !isBlock());
  const shut = () => {
    const open = isOpen();
    const inside = element.contains(document.activeElement);
    store.set("selected", "");
    store.set("details", false);
    // The widget keeps the focus: the notebook would take the next key.
    if (inside) element.closest<HTMLElement>(".gradviz-root")?.focus({ preventScroll: true });
    return open;
  };
  store.watch(["selected", "details"], () => {
    element.hidden = !isOpen();
  });
  const body = html("div");
  element.append(html("div", { class: "gradviz-inspector-head" }, title, close), body);

  let shown: string | undefined;
  const controls = () => [...body.querySelectorAll<HTMLElement>("button")];
  const find = (id: string) => store.get("content").items.find((item) => item.id === id);
  const about = (timeline: Timeline) => {
    const found = subjectsOf(timeline, store.get("at")).map(find);
    return found.find((item) => item?.kind === "node") ?? found.find((item) => item);
  };
  store.watch(["content", "selected", "details", "unfolding"], () => {
    if (!isOpen()) return;
    const focused = controls().indexOf(document.activeElement as HTMLElement);
    const content = store.get("content");
    const timeline = store.get("timeline");
    const selected = store.get("selected");
    const item = find(selected);
    // The selected item may not exist at this step of a recording.
    const absent = item ? undefined : timeline?.labelOf(selected);
    // Without a selection the details follow the steps.
    const followed = selected || !timeline ? undefined : about(timeline);
    element.classList.toggle("is-empty", !item && !absent && !followed);
    title.textContent = item?.label ?? absent ?? followed?.label ?? content.title;
    if (absent) {
      body.replaceChildren(html("p", {}, "Does not exist at this step."));
    } else if (item || followed) {
      const one = (item ?? followed) as Item;
      const { label } = one;
      body.replaceChildren(
        ...(store.get("unfolding") ? [foldTools(context, folds, one)] : []),
        ...(one.is_drawn === false ? [notDrawn(context, one)] : []),
        ...detailsOf(one, content).map((section, i) => show(section, `${prefix}-s${i}`, label)),
        ...linksOf(context, one, `${prefix}-links`),
        ...(item ? [] : [html("p", { class: "is-quiet" }, FOLLOWING)]),
      );
    } else {
      const hint = "Select a node or a tensor to see its details.";
      const summary = content.summary.replace(`${content.title}: `, "");
      body.replaceChildren(html("p", {}, summary), html("p", { class: "is-quiet" }, hint));
    }
    // What had the focus is made anew, or is gone with what it was about.
    if (focused >= 0)
      ((shown === selected && controls()[focused]) || element).focus({ preventScroll: true });
    if (shown !== selected) element.scrollTop = 0;
    shown = selected;
  });
  const toggle = () => {
    if (isOpen()) shut();
    else store.set("details", true);
  };
  return { element, close: shut, toggle };
}

/** Of what is not drawn the row of the outline. */
function detailsOf(item: Item, { outline }: GraphContent): readonly DetailSection[] {
  if (item.details.length) return item.details;
  const row = outline.rows.find(({ id }) => id === item.id);
  const facts = outline.columns.flatMap((name, i) => {
    const cell = row?.cells[i];
    return cell ? [[name, cell] as const] : [];
  });
  return [{ heading: item.label, rows: facts }];
}

/** What can be done with a node or a box of a folded graph. */
function foldTools(context: PanelContext, actions: FoldActions, { id, label }: Item): HTMLElement {
  const now = context.store.get("unfolding");
  const tool = (words: string, hint: string, run: () => void) =>
    makeButton(context, { label: `${words}: ${label}`, words, hint, run });
  const tools: HTMLElement[] = [];
  if (now?.folds.get(id)) {
    const isOpen = now.opened.has(id);
    if (id !== now.root || isOpen) {
      const hint = isOpen ? "Fold it to one box (Enter)" : "Show what is inside (Enter)";
      tools.push(tool(isOpen ? "Fold" : "Unfold", hint, () => actions.toggle(id)));
    }
    const isAlone = id === now.root && id !== now.folds.top;
    if (isAlone) {
      tools.push(tool("Show all", "All of the graph (m)", () => actions.toggleOnly(id)));
    } else if (id !== now.root) {
      tools.push(tool("Show only this", "Only what is inside (m)", () => void actions.only(id)));
    }
  } else {
    const hint = "Unfold what is around it and around all that it is joined to (n)";
    tools.push(tool("Show neighbours", hint, () => void actions.neighbourhood(id)));
  }
  return html("div", { class: "gradviz-fold-tools" }, ...tools);
}

/** What an item is joined to, each a button that selects it: where it is folded, it is shown. */
function linksOf({ store, tooltip }: PanelContext, item: Item, id: string): HTMLElement[] {
  const known = new Map(store.get("content").items.map((one) => [one.id, one]));
  const [next, prev] = item.kind === "tensor" ? ["made by", "saved by"] : ["leads to", "used by"];
  const button = (to: string) => {
    const label = known.get(to)?.label ?? to;
    const made = focusable(html("button", { type: "button", class: "gradviz-link" }, label));
    tooltip.attach(made, () => `Select ${to} ${label} and show it`);
    made.addEventListener("click", () => store.set("selected", to));
    return made;
  };
  const row = (words: string, ids: readonly string[]) => {
    const left = ids.length - LINKS;
    const more = left > 0 ? [html("span", { class: "is-quiet" }, `and ${left} more`)] : [];
    const links = html("dd", {}, ...ids.slice(0, LINKS).map(button), ...more);
    return ids.length ? [html("div", { class: "is-long" }, html("dt", {}, words), links)] : [];
  };
  const rows = [...row(next, item.next), ...row(prev, item.prev)];
  if (!rows.length) return [];
  const heading = html("div", { class: "gradviz-heading", id }, "joined to");
  return [html("div", { role: "group", "aria-labelledby": id }, heading, html("dl", {}, ...rows))];
}

/** That something is not drawn, and how to see it. */
function notDrawn(context: PanelContext, { id }: Item): HTMLElement {
  const { extent } = context.store.get("wire");
  const words = html("p", { class: "gradviz-undrawn" }, "Not drawn. ");
  if (!extent) return words;
  if (canDraw(context.store)) {
    const hint = "Draw this node and those near it (n)";
    const run = () => drawAround(context, id);
    words.append(makeButton(context, { label: "Draw it", words: "Draw it", hint, run }));
  } else words.append("To see it and what is near:");
  words.append(" ", html("code", {}, callOf(extent, id)));
  return words;
}

function show(section: DetailSection, id: string, title: string): HTMLElement {
  const list = html("dl");
  for (const [label, value] of section.rows) {
    const long = value.length > LONG || label.length > LONG_LABEL;
    const props = { class: long ? "is-long" : undefined };
    list.append(html("div", props, html("dt", {}, label), html("dd", {}, value)));
  }
  const heading = html("div", { class: "gradviz-heading", id }, section.heading);
  // The panel's title repeats it; screen readers need it to name the group.
  if (section.heading === title) heading.className = "gradviz-hidden";
  return html("div", { role: "group", "aria-labelledby": id }, heading, list);
}
