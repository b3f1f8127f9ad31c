// What the marks of this picture mean; only marks that it contains.
import type { Context } from "./context";
import { focusable, html } from "./dom";

export function makeLegend({ store }: Context): HTMLElement {
  const list = html("ul");
  const element = html(
    "details",
    { class: "gradviz-legend", open: true },
    focusable(html("summary", {}, "Legend")),
    list,
  );
  store.watch(["wire"], () => {
    const { legend } = store.get("wire");
    element.hidden = !legend.length;
    list.replaceChildren(
      ...legend.map((entry) => {
        const swatch = html("span", { class: "gradviz-swatch", "aria-hidden": "true" });
        swatch.classList.add(...entry.class.split(/\s+/).filter((name) => name.startsWith("gv-")));
        return html("li", {}, swatch, entry.label);
      }),
    );
  });
  return element;
}
