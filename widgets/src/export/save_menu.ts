// Copy and save: SVG, PNG at twice the size, text, JSON, a link. All but the animations of a recording
// works without a kernel and a network.

import { focusable, html, setProps, wellFormed } from "../lib/dom";
import { download } from "../lib/download";
import { makePopover, type Popover } from "../lib/popover";
import { roveTabindex } from "../lib/roving";
import type { PanelContext } from "../panel_context";
import { StepCursor } from "../player/step_cursor";
import { linkHere } from "./saved_page";
import { documentAt, type StaticDocument } from "./static_document";

export type Format = "svg" | "png" | "txt" | "json";

const TYPES: Record<Format, string> = {
  svg: "image/svg+xml",
  png: "image/png",
  txt: "text/plain",
  json: "application/json",
};
const NAMES: Record<Format, string> = { svg: "SVG", png: "PNG", txt: "text", json: "JSON" };
/** What plays the steps of a recording. */
const ANIMATIONS = [
  { name: "animated SVG", question: "animation", format: "svg", type: TYPES.svg },
  { name: "animated GIF", question: "gif", format: "gif", type: "image/gif" },
] as const;
const PNG_SCALE = 2;
/** Browsers draw nothing on a larger canvas. */
const CANVAS_LIMIT = 16_000;

export function textOf(wire: StaticDocument, format: Exclude<Format, "png">): string | undefined {
  return { svg: wire.svg, txt: `${wire.text.trimEnd()}\n`, json: wire.json }[format];
}

export function fileName(title: string, format: Format | "gif"): string {
  const stem = title
    .normalize("NFKD")
    .replace(/[^\w.-]+/g, "-")
    .replace(/^[-.]+|-+$/g, "");
  return `${stem.slice(0, 60) || "graph"}.${format}`;
}

async function contentOf(wire: StaticDocument, format: Format): Promise<Blob> {
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

async function copy(wire: StaticDocument, format: Format): Promise<void> {
  if (format !== "png") return navigator.clipboard.writeText(textOf(wire, format) ?? "");
  // The promise goes in unresolved: Safari wants the item made within the click.
  await navigator.clipboard.write([new ClipboardItem({ [TYPES.png]: paint(wire.svg) })]);
}

async function save(wire: StaticDocument, format: Format): Promise<void> {
  download(await contentOf(wire, format), fileName(wire.title, format));
}

/** What the menu offers. */
interface Entry {
  readonly verb: "save" | "copy";
  /** Its words in the menu. */
  readonly name: string;
  /** Between verb and name, "as" if not given. */
  readonly is?: string;
  /** Whether it takes a while. */
  readonly waits?: boolean;
  offered(): boolean;
  run(): Promise<void>;
}

function entriesOf(context: PanelContext, now: () => StaticDocument): readonly Entry[] {
  const { store } = context;
  const cursor = new StepCursor(store);
  const formats = (Object.keys(TYPES) as Format[]).flatMap((format) => {
    const offered = () => format !== "json" || store.get("wire").json !== undefined;
    const one = { name: NAMES[format], offered };
    return [
      { ...one, verb: "save" as const, run: () => save(now(), format) },
      { ...one, verb: "copy" as const, run: () => copy(now(), format) },
    ];
  });
  return [
    ...formats,
    // Python lays out code, graph and captions of the frames; a second program would differ.
    ...ANIMATIONS.map(({ name, question, format, type }) => ({
      ...{ verb: "save" as const, name, waits: true },
      offered: () => store.get("timeline") !== undefined,
      run: async () => {
        const file = new Blob([await store.kernel.ask(question, context.signal)], { type });
        download(file, fileName(`${store.get("wire").title} steps`, format));
      },
    })),
    {
      ...{ verb: "copy", name: "link to this step", is: "" },
      offered: () => store.get("page") && store.get("timeline") !== undefined,
      run: () => navigator.clipboard.writeText(linkHere(context, cursor)),
    },
  ];
}

/** The button for the toolbar and the menu it opens. */
export function makeSaveMenu(context: PanelContext): Omit<Popover, "close"> {
  const { store, announce } = context;
  const { button, element, close } = makePopover(context, "Copy or save", {
    label: "Copy or save",
    icon: "save",
    hint: "Copy or save the graph",
  });
  setProps(element, { class: "gradviz-menu", role: "menu", tabindex: false });
  button.setAttribute("aria-haspopup", "menu");
  button.addEventListener("click", () => {
    note.hidden = true;
  });

  const now = () =>
    documentAt(
      ...([store.get("wire"), store.get("timeline"), store.get("at"), store.get("drawn")] as const),
      store.get("unfolding"),
    );
  const note = html("p", { class: "gradviz-menu-note", hidden: true });
  const say = (words: string) => {
    note.textContent = words;
    note.hidden = words === "";
    announce(words);
  };
  const act = async (entry: Entry) => {
    const { verb, name } = entry;
    if (entry.waits) say("the kernel draws the animation");
    else close();
    try {
      await entry.run();
      close();
      say(`${verb === "copy" ? "copied" : "saved"} ${entry.is ?? "as"} ${name}`);
      note.hidden = true;
    } catch (error) {
      say(`could not ${verb}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };

  const offers: (() => void)[] = [];
  for (const verb of ["save", "copy"] as const) {
    const words = verb === "save" ? "Save" : "Copy";
    const group = html("div", { role: "group", "aria-label": `${verb} as` });
    const props = { class: "gradviz-menu-head", "aria-hidden": "true" };
    group.append(html("div", props, `${words} as`));
    for (const entry of entriesOf(context, now).filter((one) => one.verb === verb)) {
      const item = focusable(html("button", { type: "button", role: "menuitem" }, entry.name));
      item.setAttribute("aria-label", [verb, entry.is ?? "as", entry.name].join(" ").trim());
      item.addEventListener("click", () => void act(entry));
      offers.push(() => {
        item.hidden = !entry.offered();
      });
      group.append(item);
    }
    element.append(group);
  }
  element.append(note);
  store.watch(["wire"], () => {
    for (const offer of offers) offer();
  });
  roveTabindex(element, ["ArrowUp", "ArrowDown"]);
  element.addEventListener("keydown", (event) => {
    if (event.key === "Tab") close();
  });
  return { button, element };
}
