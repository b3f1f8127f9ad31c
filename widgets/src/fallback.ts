// When the interface cannot be shown, or not yet: a plain sentence, the picture and the text.
import { html, wellFormed } from "./lib/dom";

/** Until the document comes. */
export function showWaiting(el: HTMLElement): void {
  const words = html("p", { class: "gradviz-problem", role: "status" }, "drawing …");
  el.replaceChildren(html("div", { class: "gradviz-root" }, words));
}

export function showFallback(root: HTMLElement, wire: unknown, error: unknown): void {
  const found = (typeof wire === "object" && wire !== null ? wire : {}) as Record<string, unknown>;
  const reason = error instanceof Error ? error.message : String(error);
  root.replaceChildren(
    html(
      "p",
      { class: "gradviz-problem", role: "status" },
      `This graph cannot be shown interactively: ${reason}.`,
    ),
  );
  const svg = pictureIn(found);
  if (svg) {
    // An SVG shown as an image runs no script and loads nothing.
    const alt = typeof found.summary === "string" ? found.summary : "the graph";
    const src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(wellFormed(svg))}`;
    root.append(html("img", { class: "gradviz-still", alt, src }));
  }
  if (typeof found.text === "string")
    root.append(html("pre", { class: "gradviz-text" }, found.text));
}

/** The picture of a document that may be damaged, or of another version. */
function pictureIn({ pictures, density }: Record<string, unknown>): string | undefined {
  if (typeof pictures !== "object" || pictures === null) return undefined;
  const drawn: unknown = (pictures as Record<string, unknown>)[String(density)];
  if (typeof drawn === "string") return drawn;
  const svg = typeof drawn === "object" && drawn !== null && "svg" in drawn ? drawn.svg : undefined;
  return typeof svg === "string" ? svg : undefined;
}
