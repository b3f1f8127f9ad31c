// The picture of a question, as large as it can be read, with controls of HTML over it. To assistive
// technology the controls are the picture: what they say is all that is in it.

import type { PlacedBox, QuestionPicture } from "../documents/question_picture";
import { html, onResize, setProps } from "../lib/dom";
import { parsePicture } from "./picture";

/** How small and how large a picture is shown; what does not fit then is scrolled to. */
const LEAST = 0.8;
const MOST = 1.15;
/** Pixels: a picture that is higher than this is shown smaller. */
const HEIGHT = 340;
/** Around the picture. */
const RIM = 2;

export type Verdict = "right" | "wrong" | "missed";
export const SAID: Readonly<Record<Verdict, string>> = {
  right: "✓ right",
  wrong: "✕ wrong",
  missed: "◆ the answer",
};

/** What the controls of a picture need. */
export interface Asking {
  readonly prefix: string;
  readonly signal: AbortSignal;
  /** What is asked, for a screen reader. */
  readonly label: string;
  /** Called when a person has picked or typed something. */
  onChange(): void;
}

export interface PictureFrame {
  readonly element: HTMLElement;
  /** Where controls are put. */
  readonly layer: HTMLElement;
}

/**
 * The picture in its frame.
 *
 * `onFit` is called after every change of size, with the width that there is and the zoom.
 */
export function makePictureFrame(
  picture: QuestionPicture,
  prefix: string,
  signal: AbortSignal,
  onFit: (room: number, zoom: number) => void = () => {},
): PictureFrame {
  const { svg } = parsePicture(picture.svg, prefix);
  // An image that says nothing: the controls over it have its words.
  for (const part of [svg, ...svg.querySelectorAll("[role]")]) {
    setProps(part, { role: false, "aria-label": false });
  }
  setProps(svg, { "aria-hidden": "true", width: "100%", height: "100%", focusable: "false" });
  const layer = html("div", { class: "gradviz-asked-layer" });
  const sheet = html("div", { class: "gradviz-asked-sheet" }, svg, layer);
  const element = html("div", { class: "gradviz-asked" }, sheet);
  const [width, height] = picture.size;
  const resize = () => {
    const room = element.clientWidth;
    const across = room ? (room - 2 * RIM) / width : 1;
    const zoom = Math.min(MOST, Math.max(LEAST, Math.min(across, HEIGHT / height)));
    sheet.style.width = `${Math.floor(width * zoom)}px`;
    sheet.style.height = `${Math.floor(height * zoom)}px`;
    onFit(room, zoom);
  };
  resize();
  onResize(element, signal, resize);
  return { element, layer };
}

/** Puts a control where something of the picture is. */
export function place(control: HTMLElement, box: PlacedBox, { size }: QuestionPicture): void {
  const [x, y, width, height] = box;
  const share = (part: number, whole: number) => `${((100 * part) / whole).toFixed(3)}%`;
  control.style.setProperty("--x", share(x, size[0]));
  control.style.setProperty("--y", share(y, size[1]));
  control.style.setProperty("--w", share(width, size[0]));
  control.style.setProperty("--h", share(height, size[1]));
}
