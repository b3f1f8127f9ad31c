// When the interface cannot be shown: a plain sentence, the picture and the text.
import { html, wellFormed } from "./dom";

export function showFallback(root: HTMLElement, wire: unknown, error: unknown): void {
  const facts = (typeof wire === "object" && wire !== null ? wire : {}) as Record<string, unknown>;
  const reason = error instanceof Error ? error.message : String(error);
  root.replaceChildren(
    html(
      "p",
      { class: "gradviz-problem", role: "status" },
      `This graph cannot be shown interactively: ${reason}.`,
    ),
  );
  if (typeof facts.svg === "string") {
    // As an image an SVG runs no script and loads nothing, whatever is wrong with it.
    const alt = typeof facts.summary === "string" ? facts.summary : "the graph";
    const src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(wellFormed(facts.svg))}`;
    root.append(html("img", { class: "gradviz-still", alt, src }));
  }
  if (typeof facts.text === "string")
    root.append(html("pre", { class: "gradviz-text" }, facts.text));
}
