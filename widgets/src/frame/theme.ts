// Light or dark: from the trait, else the notebook, else the system.
import { hear, type Model } from "../model/store";

type Shade = "light" | "dark";

/** The theme of the page, undefined when the page does not set one. */
export function pageTheme(page: Document): Shade | undefined {
  const { body, documentElement } = page;
  const lab = body.dataset.jpThemeLight;
  if (lab !== undefined) return lab === "false" ? "dark" : "light";
  const code = body.dataset.vscodeThemeKind ?? body.className;
  if (/vscode-(dark|high-contrast(?!-light))/.test(code)) return "dark";
  if (/vscode-/.test(code)) return "light";
  const colab = documentElement.getAttribute("theme") ?? documentElement.dataset.theme;
  return colab === "dark" || colab === "light" ? colab : undefined;
}

/** Gives `root` the shade of the model's theme, of the page if none is chosen, until the signal ends. */
export function followTheme(root: HTMLElement, model: Model, signal: AbortSignal): void {
  const system = window.matchMedia?.("(prefers-color-scheme: dark)");
  const update = () => {
    const theme = model.get("theme");
    const auto = () => pageTheme(document) ?? (system?.matches ? "dark" : "light");
    root.dataset.theme = theme === "light" || theme === "dark" ? theme : auto();
  };
  const observer = new MutationObserver(update);
  const attributeFilter = [
    "class",
    "theme",
    "data-theme",
    "data-jp-theme-light",
    "data-vscode-theme-kind",
  ];
  for (const place of [document.body, document.documentElement]) {
    observer.observe(place, { attributes: true, attributeFilter });
  }
  system?.addEventListener?.("change", update, { signal });
  signal.addEventListener("abort", () => observer.disconnect());
  hear(model, "change:theme", update, signal);
  update();
}
