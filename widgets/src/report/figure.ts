// A figure of a report: safe to show like the picture is, its parts linked to rows and picture.

import type { Image } from "../documents/parts";
import { followPointer, parsePicture } from "../graph/picture";
import { focusable, html } from "../lib/dom";
import type { PanelContext } from "../panel_context";

export function makeFigure(context: PanelContext, figure: Image, number: number): HTMLElement {
  const { store, prefix } = context;
  const name = `gradviz-figure-${number}`;
  const picture = parsePicture(figure.svg, `${prefix}-f${number}`, `.gradviz-root .${name}`);
  const { svg } = picture;
  const [, , width] = (svg.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  svg.style.setProperty("--figure-width", `${width || 600}px`);
  for (const size of ["width", "height"]) svg.removeAttribute(size);
  // A scrolling region must be reachable by keyboard.
  const props = { class: `gradviz-figure ${name}`, role: "group", "aria-label": figure.caption };
  const element = focusable(html("div", props), 0);
  element.append(svg);

  const parts = [...svg.querySelectorAll("[data-id]")];
  const idAt = (target: EventTarget | null) =>
    (target as Element | null)?.closest("[data-id]")?.getAttribute("data-id") ?? "";
  const known = (id: string) => store.get("content").items.some((item) => item.id === id);
  element.addEventListener("click", (event) => {
    const id = idAt(event.target);
    if (known(id)) store.set("selected", id);
  });
  followPointer(context, element, () => picture, idAt);
  store.watch(["lit", "selected"], () => {
    for (const part of parts) {
      const id = part.getAttribute("data-id");
      part.classList.toggle("is-lit", id === store.get("lit"));
      part.classList.toggle("is-selected", id === store.get("selected"));
    }
  });
  return element;
}
