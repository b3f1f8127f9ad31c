// Copy and save: SVG, PNG at twice the size, text, JSON. Works without a kernel and a network.

import type { BaseDocument } from "../documents/graph";
import { makeButton } from "../lib/button";
import { claim, html, wellFormed } from "../lib/dom";
import { roveTabindex } from "../lib/roving";
import type { PanelContext } from "../panel_context";
import { documentAt } from "./static_document";

export type Format = "svg" | "png" | "txt" | "json";

const TYPES: Record<Format, string> = {
  svg: "image/svg+xml",
  png: "image/png",
  txt: "text/plain",
  json: "application/json",
};
const NAMES: Record<Format, string> = { svg: "SVG", png: "PNG", txt: "text", json: "JSON" };
const PNG_SCALE = 2;
/** Browsers draw nothing on a larger canvas. */
const CANVAS_LIMIT = 16_000;

export function textOf(wire: BaseDocument, format: Exclude<Format, "png">): string | undefined {
  return { svg: wire.svg, txt: `${wire.text.trimEnd()}\n`, json: wire.json }[format];
}

export function fileName(title: string, format: Format): string {
  const stem = title
    .normalize("NFKD")
    .replace(/[^\w.-]+/g, "-")
    .replace(/^[-.]+|-+$/g, "");
  return `${stem.slice(0, 60) || "graph"}.${format}`;
}

async function contentOf(wire: BaseDocument, format: Format): Promise<Blob> {
  if (format === "png") return paint(wire.svg);
  return new Blob([textOf(wire, format) ?? ""], { type: TYPES[format] });
}

async function paint(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(wellFormed(svg))}`;
  await image.decode();
  const { naturalWidth: width, naturalHeight: height } = image;
  const scale = Math.min(PNG_SCALE, CANVAS_LIMIT / width, CANVAS_LIMIT / height);
  const canvas = html("canvas", {
    width: Math.ceil(width * scale),
    height: Math.ceil(height * scale),
  });
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("this browser draws no PNG");
  pen.fillStyle = "white";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, fail) => {
    canvas.toBlob(
      (blob) => (blob ? done(blob) : fail(new Error("the picture is too large"))),
      TYPES.png,
    );
  });
}

async function copy(wire: BaseDocument, format: Format): Promise<void> {
  if (format !== "png") return navigator.clipboard.writeText(textOf(wire, format) ?? "");
  // The promise goes in unresolved: Safari wants the item made within the click.
  await navigator.clipboard.write([new ClipboardItem({ [TYPES.png]: paint(wire.svg) })]);
}

async function save(wire: BaseDocument, format: Format): Promise<void> {
  const address = URL.createObjectURL(await contentOf(wire, format));
  html("a", { href: address, download: fileName(wire.title, format) }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export interface Menu {
  readonly button: HTMLButtonElement;
  readonly element: HTMLElement;
}

/** The button for the toolbar and the menu it opens. */
export function makeSaveMenu(context: PanelContext): Menu {
  const { store, announce, prefix, signal } = context;
  const id = `${prefix}-save`;
  const element = html("div", {
    class: "gradviz-menu",
    role: "menu",
    id,
    "aria-label": "Copy or save",
    hidden: true,
  });
  const button = makeButton(context, {
    label: "Copy or save",
    icon: "save",
    hint: "Copy or save the graph",
    run: () => open(element.hidden === true),
  });
  for (const [name, value] of [
    ["haspopup", "menu"],
    ["controls", id],
    ["expanded", "false"],
  ] as const) {
    button.setAttribute(`aria-${name}`, value);
  }

  const open = (on: boolean) => {
    element.hidden = !on;
    button.setAttribute("aria-expanded", String(on));
    if (on) element.querySelector<HTMLElement>("button:not([hidden])")?.focus();
  };
  const close = () => {
    if (element.contains(document.activeElement)) button.focus();
    open(false);
  };

  const now = () => documentAt(store.get("wire"), store.get("timeline"), store.get("at"));
  const act = async (verb: "copy" | "save", format: Format) => {
    close();
    try {
      await (verb === "copy" ? copy : save)(now(), format);
      announce(verb === "copy" ? `copied as ${NAMES[format]}` : `saved as ${NAMES[format]}`);
    } catch (error) {
      announce(`could not ${verb}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };

  const json: HTMLElement[] = [];
  for (const verb of ["save", "copy"] as const) {
    const group = html("div", { role: "group", "aria-label": `${verb} as` });
    group.append(
      html(
        "div",
        { class: "gradviz-menu-head", "aria-hidden": "true" },
        `${verb === "save" ? "Save" : "Copy"} as`,
      ),
    );
    for (const format of Object.keys(TYPES) as Format[]) {
      const item = html("button", {
        type: "button",
        role: "menuitem",
        "aria-label": `${verb} as ${NAMES[format]}`,
      });
      item.setAttribute("data-lm-suppress-shortcuts", "true");
      item.append(NAMES[format]);
      item.addEventListener("click", () => void act(verb, format));
      if (format === "json") json.push(item);
      group.append(item);
    }
    element.append(group);
  }
  store.watch(["wire"], () => {
    for (const item of json) item.hidden = store.get("wire").json === undefined;
  });
  roveTabindex(element, ["ArrowUp", "ArrowDown"]);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" && event.key !== "Tab") return;
    if (event.key === "Escape") claim(event);
    close();
  });
  const outside = (event: Event) => {
    const inside = event.composedPath();
    if (!element.hidden && !inside.includes(element) && !inside.includes(button)) open(false);
  };
  document.addEventListener("pointerdown", outside, { signal });
  return { button, element };
}
