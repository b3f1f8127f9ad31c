// A small picture of each mark for the legend, coloured by the style sheet of the picture itself.
import { svg } from "../lib/dom";

const WIDTH = 28;
const HEIGHT = 16;

const box = (kind: string, rx: number) =>
  svg("rect", { class: kind, x: 2, y: 2, width: WIDTH - 4, height: HEIGHT - 4, rx });
const line = (d: string) => svg("path", { d });
const CARD = "gv-card";
const STRIPE = "M2 2h3v12h-3z";

const sign = (isOpen: boolean) =>
  svg("path", { class: "gv-fold-sign", d: `M10 4h8v8h-8zM12 8h4${isOpen ? "" : "M14 6v4"}` });

const gradient = () => [
  line("M14 0v16"),
  svg(
    "g",
    { class: "gv-gradient" },
    svg("rect", { x: 6, y: 3, width: 16, height: 10, rx: 5 }),
    svg("path", { d: "M14 5.5l3.2 5h-6.4z" }),
  ),
];

/** The shapes of a class; a plain card for an unknown one. */
const SHAPES: Record<string, () => SVGElement[]> = {
  "gv-leaf": () => [box(CARD, 6)],
  "gv-tensor": () => [box(CARD, 6)],
  "gv-holds": () => [
    box(CARD, 2),
    svg(
      "g",
      { class: "gv-pocket gv-held" },
      svg("rect", { class: "gv-box", x: 6, y: 6, width: 16, height: 5 }),
    ),
  ],
  "gv-held": () => [box("gv-box", 2), svg("path", { class: "gv-mark", d: STRIPE })],
  "gv-modified": () => [
    box("gv-box", 2),
    svg("text", { class: "gv-warn", x: 14, y: 12, "text-anchor": "middle" }, "⚠"),
  ],
  "gv-tag": () => [box("gv-box", 2), svg("path", { class: "gv-mark", d: STRIPE })],
  "gv-root": () => [box("", 4)],
  "gv-stub": () => [line("M14 1v7"), svg("rect", { x: 5, y: 8, width: 18, height: 6, rx: 3 })],
  "gv-uses": () => [line("M2 8h24")],
  "gv-hook": () => [
    svg("path", { class: "gv-pin", d: "M14 9v5M10.5 5.5a3.5 3.5 0 1 0 7 0 3.5 3.5 0 1 0-7 0" }),
  ],
  "gv-shared": () => [svg("rect", { class: "gv-bar", x: 12, y: 2, width: 4, height: 12 })],
  "gv-waiting": () => [box(CARD, 6)],
  "gv-done": () => [box(CARD, 2), svg("path", { class: "gradviz-check", d: "M10 8.5l3 3 5-6.5" })],
  "gv-flow": () => gradient(),
  "gv-flowed": () => gradient(),
  "gv-cut": () => [
    box("gv-box", 2),
    svg("path", { class: "gv-cut-sign", d: "M11 4l6 8M17 4l-6 8" }),
  ],
  "gv-stack": () => [
    svg("rect", { class: CARD, x: 5, y: 4, width: WIDTH - 7, height: HEIGHT - 6, rx: 2 }),
    svg("rect", { class: CARD, x: 2, y: 1, width: WIDTH - 7, height: HEIGHT - 6, rx: 2 }),
  ],
  "gv-open": () => [box("gv-frame", 2), sign(true)],
  "gv-fold": () => [box(CARD, 2), sign(false)],
  "gv-edge": () => [
    line("M14 1v10"),
    svg("polygon", { class: "gv-head gv-head-data", points: "14 15 10.5 8 17.5 8" }),
    svg("polygon", { class: "gv-head gv-head-engine", points: "14 1 10.5 8 17.5 8" }),
  ],
};
/** Marks that elements of another class show. */
const DRAWN: Record<string, string> = { "gv-hook": "gv-pin", "gv-shared": "gv-bar" };
const POCKETS = new Set(["gv-held", "gv-modified"]);

/** The class of the elements that show a mark of the legend. */
export function drawnAs(mark: string): string {
  return DRAWN[mark] ?? mark;
}

export function makeSwatch(classes: string): SVGElement {
  const names = classes.split(/\s+/).filter((name) => /^gv-[a-z-]+$/.test(name));
  const known = names.find((name) => name in SHAPES) ?? "";
  const shapes = SHAPES[known]?.() ?? [box(CARD, 2)];
  if (POCKETS.has(known)) names.push("gv-pocket");
  const props = {
    class: "gradviz-swatch",
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    "aria-hidden": "true",
  };
  return svg("svg", props, svg("g", { class: names.join(" ") }, ...shapes));
}
