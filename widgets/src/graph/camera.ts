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

const MIN_ZOOM = 0.02;
const MAX_ZOOM = 4;
/** The smallest zoom of a first view: below it, text is too small to read. */
export const READABLE = 0.7;
const MARGIN = 12;
/** Height that the pan buttons cover at the bottom of the window while something is outside. */
const COVERED = 44;

const between = (low: number, value: number, high: number) => Math.min(Math.max(value, low), high);

/** The zoom at which everything is visible, at most 100 %. */
export function fitZoom(content: Size, view: Size): number {
  const k = Math.min(
    (view.width - 2 * MARGIN) / content.width,
    (view.height - 2 * MARGIN) / content.height,
    1,
  );
  return between(MIN_ZOOM, Number.isFinite(k) ? k : 1, MAX_ZOOM);
}

/** The zoom of a first view: all of the picture, else its whole width or height, else 100 %. */
export function firstZoom(content: Size, view: Size): number {
  const all = fitZoom(content, view);
  if (all >= READABLE) return all;
  const across = (view.width - 2 * MARGIN) / content.width;
  const down = (view.height - MARGIN - COVERED) / content.height;
  return Math.min(...[across, down].filter((k) => k >= READABLE), 1);
}

/** Centres a picture that fits; keeps any other within the window. */
export function clamp(camera: Camera, content: Size, view: Size): Camera {
  const along = (at: number, size: number, room: number, end: number) =>
    size <= room - 2 * MARGIN ? (room - size) / 2 : between(room - size - end, at, MARGIN);
  return {
    k: camera.k,
    x: along(camera.x, content.width * camera.k, view.width, MARGIN),
    y: along(camera.y, content.height * camera.k, view.height, COVERED),
  };
}

/** Zooms by a factor; the point of the window stays over the same point of the picture. */
export function zoomAt(camera: Camera, point: { x: number; y: number }, factor: number): Camera {
  const k = between(MIN_ZOOM, camera.k * factor, MAX_ZOOM);
  const by = k / camera.k;
  return { k, x: point.x - (point.x - camera.x) * by, y: point.y - (point.y - camera.y) * by };
}

/** Moves just as far as needed to bring a box of the picture into the window. */
export function reveal(camera: Camera, box: Box, view: Size): Camera {
  const along = (at: number, low: number, size: number, room: number, margin: number) => {
    const start = at + low * camera.k;
    const end = start + size * camera.k;
    if (start < MARGIN || size * camera.k > room - MARGIN - margin) return at + MARGIN - start;
    return end > room - margin ? at + room - margin - end : at;
  };
  return {
    k: camera.k,
    x: along(camera.x, box.x, box.width, view.width, MARGIN),
    y: along(camera.y, box.y, box.height, view.height, COVERED),
  };
}

/** Centres a box that is not in the window yet. */
export function follow(camera: Camera, box: Box, view: Size): Camera {
  const { x, y } = reveal(camera, box, view);
  if (Math.abs(x - camera.x) < 1 && Math.abs(y - camera.y) < 1) return camera;
  return {
    k: camera.k,
    x: view.width / 2 - (box.x + box.width / 2) * camera.k,
    y: view.height / 2 - (box.y + box.height / 2) * camera.k,
  };
}

/** Whether some of the picture is outside the window. */
export function overflows(camera: Camera, content: Size, view: Size): boolean {
  return content.width * camera.k > view.width || content.height * camera.k > view.height;
}
