// When the interface cannot be shown: a plain sentence, the picture and the text.
import { html, wellFormed } from "./lib/dom";

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
  if (typeof found.svg === "string") {
    // An SVG shown as an image runs no script and loads nothing.
    const alt = typeof found.summary === "string" ? found.summary : "the graph";
    const src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(wellFormed(found.svg))}`;
    root.append(html("img", { class: "gradviz-still", alt, src }));
  }
  if (typeof found.text === "string")
    root.append(html("pre", { class: "gradviz-text" }, found.text));
}
