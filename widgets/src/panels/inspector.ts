// Details of what is selected; without a selection, what the whole graph is.

import type { DetailSection, Item } from "../documents/graph";
import { focusable, html } from "../lib/dom";
import { icon } from "../lib/icons";
import { subjectsOf } from "../model/related";
import type { Timeline } from "../model/timeline";
import type { PanelContext } from "../panel_context";

const FOLLOWING = "What this step is about. Select a node or a tensor to keep it here.";

/** Characters above which a value stands below its label. */
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
  tooltip.attach(close, () => "Select nothing (Esc)");
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
    // Of a recording something may be selected that is not there at this step.
    const absent = item ? undefined : timeline?.labelOf(selected);
    // With nothing selected the details follow the steps.
    const followed = selected || !timeline ? undefined : about(timeline);
    element.classList.toggle("is-empty", !item && !absent && !followed);
    close.hidden = !item && !absent;
    title.textContent = item?.label ?? absent ?? followed?.label ?? content.title;
    if (absent) {
      body.replaceChildren(html("p", {}, "Not there at this step."));
    } else if (item || followed) {
      const { details, label } = (item ?? followed) as Item;
      body.replaceChildren(
        ...details.map((section, i) => show(section, `${prefix}-s${i}`, label)),
        ...(item ? [] : [html("p", { class: "is-quiet" }, FOLLOWING)]),
      );
    } else {
      const hint = "Select a node or a tensor to see what autograd keeps there.";
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
  // Said by the panel's title already; for a screen reader it still names the group.
  if (section.heading === title) heading.className = "gradviz-hidden";
  return html("div", { role: "group", "aria-labelledby": id }, heading, list);
}
