// Details of the selected item; without a selection, the summary of the graph.

import type { DetailSection, Item } from "../documents/graph";
import { focusable, html } from "../lib/dom";
import { icon } from "../lib/icons";
import { subjectsOf } from "../model/related";
import type { Timeline } from "../model/timeline";
import type { PanelContext } from "../panel_context";

const FOLLOWING = "The main node or tensor of this step. Select one to keep its details here.";

/** Longer values are placed below their label. */
const LONG = 24;
const LONG_LABEL = 14;

export function makeInspector({ store, prefix, tooltip }: PanelContext): HTMLElement {
  const element = html("div", {
    class: "gradviz-inspector",
    role: "group",
    "aria-label": "Details",
  });
  focusable(element, 0);
  const title = html("div", { class: "gradviz-inspector-title", id: `${prefix}-details` });
  const close = focusable(
    html("button", { type: "button", class: "gradviz-button", "aria-label": "Select nothing" }),
    -1,
  );
  close.append(icon("close"));
  close.addEventListener("click", () => {
    element.focus();
    store.set("selected", "");
  });
  tooltip.attach(close, () => "Clear the selection (Esc)");
  const body = html("div");
  element.append(html("div", { class: "gradviz-inspector-head" }, title, close), body);

  let shown: string | undefined;
  const find = (id: string) => store.get("content").items.find((item) => item.id === id);
  const about = (timeline: Timeline) => {
    const found = subjectsOf(timeline, store.get("at")).map(find);
    return found.find((item) => item?.kind === "node") ?? found.find((item) => item);
  };
  store.watch(["content", "selected"], () => {
    const content = store.get("content");
    const timeline = store.get("timeline");
    const selected = store.get("selected");
    const item = find(selected);
    // The selected item may not exist at this step of a recording.
    const absent = item ? undefined : timeline?.labelOf(selected);
    // Without a selection the details follow the steps.
    const followed = selected || !timeline ? undefined : about(timeline);
    element.classList.toggle("is-empty", !item && !absent && !followed);
    close.hidden = !item && !absent;
    title.textContent = item?.label ?? absent ?? followed?.label ?? content.title;
    if (absent) {
      body.replaceChildren(html("p", {}, "Does not exist at this step."));
    } else if (item || followed) {
      const { details, label } = (item ?? followed) as Item;
      body.replaceChildren(
        ...details.map((section, i) => show(section, `${prefix}-s${i}`, label)),
        ...(item ? [] : [html("p", { class: "is-quiet" }, FOLLOWING)]),
      );
    } else {
      const hint = "Select a node or a tensor to see its details.";
      const summary = content.summary.replace(`${content.title}: `, "");
      body.replaceChildren(html("p", {}, summary), html("p", { class: "is-quiet" }, hint));
    }
    if (shown !== selected) element.scrollTop = 0;
    shown = selected;
  });
  return element;
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
