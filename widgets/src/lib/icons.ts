// The icons of buttons and cards.
import { svg } from "./dom";

const ICONS = {
  plus: "M10 4v12M4 10h12",
  minus: "M4 10h12",
  engine: "M6 17V4M3 7l3-3 3 3M14 3v13M11 13l3 3 3-3",
  save: "M10 3v10M6 9l4 4 4-4M3 17h14",
  find: "M8.5 3a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11M12.5 12.5 17 17",
  help: "M7 7.5a3 3 0 1 1 4.2 2.7C10.4 10.6 10 11 10 12M10 15v.5",
  close: "M5 5l10 10M15 5 5 15",
  up: "M5 12l5-5 5 5",
  down: "M5 8l5 5 5-5",
  sort: "M6 8l4-4 4 4M6 12l4 4 4-4",
  left: "M12 5l-5 5 5 5",
  right: "M8 5l5 5-5 5",
  first: "M4.5 4v12M15 4l-7 6 7 6",
  back: "M13 4l-7 6 7 6",
  forward: "M7 4l7 6-7 6",
  last: "M15.5 4v12M5 4l7 6-7 6",
  play: "M6.5 4l10 6-10 6z",
  pause: "M7 4.5v11M13 4.5v11",
  detail: "M4 3v14M4 6h5M4 14h5M12 6h5M12 14h5M12 10h5",
  more: "M3.2 10a.9.9 0 1 0 1.800 0 .9.9 0 1 0-1.800 0M9.100 10a.9.9 0 1 0 1.800 0 .9.9 0 1 0-1.800 0M15 10a.9.9 0 1 0 1.800 0 .9.9 0 1 0-1.800 0",
  full: "M12 3h5v5M17 3l-6 6M8 17H3v-5M3 17l6-6",
  window: "M17 8h-5V3M12 8l5-5M3 12h5v5M8 12l-5 5",
  details: "M3 4h14v12H3zM11 4v12M13 8h2M13 11h2",
  refused: "M10 3a7 7 0 1 0 0 14 7 7 0 1 0 0-14M7.5 7.5l5 5M12.5 7.5l-5 5",
  check: "M4 10.5l4 4 8-9",
  copy: "M7 7h10v10H7zM13 7V3H3v10h4",
  error: "M10 3l7.5 13.5h-15zM10 8v4M10 14v.5",
} as const;

export type Icon = keyof typeof ICONS;

export function icon(name: Icon): SVGElement {
  return svg(
    "svg",
    { class: "gradviz-icon", viewBox: "0 0 20 20", "aria-hidden": "true" },
    svg("path", { d: ICONS[name] }),
  );
}
