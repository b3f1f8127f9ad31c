// Position and zoom of the picture in its window. Pure functions; viewport.ts applies the result.

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A point p of the picture is shown at (x + k * p.x, y + k * p.y). */
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly k: number;
}

export interface Box extends Size {
  readonly x: number;
  readonly y: number;
}

/** What the window is about: a card, and the cards that it is joined to. */
export interface Subject {
  readonly card: Box;
  readonly around: readonly Box[];
}

const MIN_ZOOM = 0.02;
const MAX_ZOOM = 4;
/** The smallest size at which text is read without effort, in CSS pixels. */
const SMALLEST_TEXT = 11;
/** How much smaller it may be where all of a picture is seen so. */
export const WHOLE = 0.8;
const MARGIN = 12;
/** The least distance of a picture, which has a margin of its own, from the rim of the window. */
export const AROUND = 4;
/** The least distance from the rim of the window, where more things are seen with less. */
const RIM = 3;

const between = (low: number, value: number, high: number) => Math.min(Math.max(value, low), high);

/** The smallest zoom at which text of this size, in units of the picture, can be read. */
export function readableZoom(smallest: number): number {
  return smallest > 0 ? SMALLEST_TEXT / smallest : 1;
}

/** The zoom at which everything is visible; a picture is enlarged only to be readable. */
export function fitZoom(content: Size, view: Size, readable: number): number {
  const k = Math.min(
    (view.width - 2 * AROUND) / content.width,
    (view.height - 2 * AROUND) / content.height,
    Math.max(1, readable),
  );
  return between(MIN_ZOOM, Number.isFinite(k) ? k : 1, MAX_ZOOM);
}

/** All of a picture that can just be read so, else its whole width or height, else just readable; where
    not all is seen not larger than `most`. */
export function firstZoom(
  content: Size,
  view: Size,
  readable: number,
  most = Math.max(1, readable),
): number {
  const all = fitZoom(content, view, readable);
  if (all >= WHOLE * readable) return all;
  const across = (view.width - 2 * AROUND) / content.width;
  const down = (view.height - 2 * AROUND) / content.height;
  return Math.min(...[across, down].filter((k) => k >= readable), most);
}

/** Centres a picture that fits; keeps any other within the window. */
export function clamp(camera: Camera, content: Size, view: Size): Camera {
  const along = (at: number, size: number, room: number) =>
    size <= room - 2 * AROUND ? (room - size) / 2 : between(room - size - AROUND, at, AROUND);
  return {
    k: camera.k,
    x: along(camera.x, content.width * camera.k, view.width),
    y: along(camera.y, content.height * camera.k, view.height),
  };
}

/** Zooms by a factor; the point of the window stays over the same point of the picture. */
export function zoomAt(camera: Camera, point: { x: number; y: number }, factor: number): Camera {
  const k = between(MIN_ZOOM, camera.k * factor, MAX_ZOOM);
  const by = k / camera.k;
  return { k, x: point.x - (point.x - camera.x) * by, y: point.y - (point.y - camera.y) * by };
}

/** Moves just as far as needed to bring a box of the picture into the window. */
export function reveal(camera: Camera, box: Box, view: Size, margin = MARGIN): Camera {
  const along = (at: number, low: number, size: number, room: number) => {
    const start = at + low * camera.k;
    const end = start + size * camera.k;
    if (start < margin || size * camera.k > room - 2 * margin) return at + margin - start;
    return end > room - margin ? at + room - margin - end : at;
  };
  return {
    k: camera.k,
    x: along(camera.x, box.x, box.width, view.width),
    y: along(camera.y, box.y, box.height, view.height),
  };
}

/** Keeps the upper edge of a box, and its middle, where they are on the screen when the picture around
    it is replaced by another one; moves it only across, and only where its sides would be hidden. */
export function hold(camera: Camera, before: Box, after: Box, view: Size): Camera {
  const { k } = camera;
  const x = camera.x + k * (before.x + before.width / 2 - after.x - after.width / 2);
  const y = camera.y + k * (before.y - after.y);
  return { k, x: reveal({ k, x, y }, after, view).x, y };
}

/** Centres a box that is not in the window yet. */
export function follow(camera: Camera, box: Box, view: Size): Camera {
  const { x, y } = reveal(camera, box, view);
  return Math.abs(x - camera.x) < 1 && Math.abs(y - camera.y) < 1
    ? camera
    : centre(camera.k, box, view);
}

/** The view of a subject, whatever was shown before: all of a picture that can be read so; of a
    large one the subject's card with as much as fits of what it is joined to. */
export function viewOf(
  content: Size,
  view: Size,
  readable: number,
  subject: Subject | undefined,
  most?: number,
): Camera {
  const k = firstZoom(content, view, readable, most);
  if (!subject) return clamp({ x: AROUND, y: AROUND, k }, content, view);
  const { card } = subject;
  const fits = ({ width, height }: Size) =>
    width * k <= view.width - 2 * RIM && height * k <= view.height - 2 * RIM;
  const shown = [...subject.around]
    .sort((one, other) => distance(card, one) - distance(card, other))
    .reduce((all, next) => (fits(union(all, next)) ? union(all, next) : all), card);
  const all = clamp(centre(k, shown, view), content, view);
  return reveal(reveal(all, shown, view, RIM), card, view, RIM);
}

/** The view in which all cards of a picture are seen at a zoom, its middle in that of the window where
    that is possible; undefined where they are not seen at once. */
export function viewOfAll(
  content: Size,
  view: Size,
  k: number,
  cards: readonly Box[],
): Camera | undefined {
  const [first, ...others] = cards;
  if (!first) return undefined;
  const all = others.reduce(union, first);
  const isSeen = all.width * k <= view.width - 2 * RIM && all.height * k <= view.height - 2 * RIM;
  return isSeen ? reveal(centre(k, { x: 0, y: 0, ...content }, view), all, view, RIM) : undefined;
}

/** Whether some of the picture is outside the window. */
export function overflows(camera: Camera, content: Size, view: Size): boolean {
  return content.width * camera.k > view.width || content.height * camera.k > view.height;
}

/** A box in the middle of the window, at a zoom. */
export function centre(k: number, box: Box, view: Size): Camera {
  return {
    k,
    x: view.width / 2 - (box.x + box.width / 2) * k,
    y: view.height / 2 - (box.y + box.height / 2) * k,
  };
}

function union(one: Box, other: Box): Box {
  const x = Math.min(one.x, other.x);
  const y = Math.min(one.y, other.y);
  return {
    x,
    y,
    width: Math.max(one.x + one.width, other.x + other.width) - x,
    height: Math.max(one.y + one.height, other.y + other.height) - y,
  };
}

function distance(one: Box, other: Box): number {
  const dx = one.x + one.width / 2 - other.x - other.width / 2;
  const dy = one.y + one.height / 2 - other.y - other.height / 2;
  return Math.hypot(dx, dy);
}
