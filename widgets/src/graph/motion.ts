// What moves when a step is taken: gradients travel along their edges to the node that gets them, and
// cards that were not there fade in. It is played over the picture of the step, which is whole from the
// beginning: when it ends or is ended, nothing of it is left.

/** As long as the window glides. */
const TRAVEL_MS = 240;
const FADE_MS = 120;
/** Places along an edge that a gradient passes. */
const PLACES = 16;
const STILL = "(prefers-reduced-motion: reduce)";

/** An element of the picture before a step changes it. */
interface Before {
  readonly isThere: boolean;
  readonly hasGradient: boolean;
}

export class Motion {
  #last = Number.NEGATIVE_INFINITY;
  /** Ends what was begun, also where it has ended. */
  #running: (() => void)[] = [];
  #before: Map<Element, Before> | undefined;
  readonly #still = window.matchMedia?.(STILL);

  /** A step begins: what still moves ends at once. It is itself still if it comes that fast. */
  begin(): void {
    this.end();
    const now = performance.now();
    const isFast = now - this.#last < TRAVEL_MS;
    this.#last = now;
    this.#before = isFast || this.#still?.matches ? undefined : new Map();
  }

  /** Says that the step is about to change an element of the picture. */
  changes(element: Element): void {
    this.#before?.set(element, {
      isThere: !element.classList.contains("gv-absent"),
      hasGradient: gradientOf(element) !== undefined,
    });
  }

  /** All elements are changed: shows what is new. */
  play(): void {
    for (const [element, { isThere, hasGradient }] of this.#before ?? []) {
      const gradient = gradientOf(element);
      if (!isThere && element.getAttribute("role") === "img") this.#fade(element);
      if (!hasGradient && gradient) this.#travel(element, gradient);
    }
    this.#before = undefined;
  }

  /** Ends everything that moves. */
  end(): void {
    this.#before = undefined;
    for (const stop of this.#running.splice(0)) stop();
  }

  #fade(card: Element): void {
    this.#run(card.animate?.([{ opacity: 0 }, { opacity: 1 }], FADE_MS));
  }

  /** A copy of a gradient goes from its node along the edge to the node that gets it. */
  #travel(edge: Element, gradient: SVGGElement): void {
    const line = edge.querySelector<SVGPathElement>(":scope > path");
    if (!line?.getPointAtLength || !gradient.animate) return;
    const length = line.getTotalLength();
    const start = line.getPointAtLength(length);
    const ghost = gradient.cloneNode(true) as SVGGElement;
    ghost.classList.add("gradviz-ghost");
    ghost.setAttribute("aria-hidden", "true");
    // Data flows along the path, gradients against it.
    const frames = Array.from({ length: PLACES + 1 }, (_, i) => {
      const { x, y } = line.getPointAtLength(length * (1 - i / PLACES));
      return {
        transform: `translate(${x - start.x}px, ${y - start.y}px)`,
        opacity: i < PLACES ? 1 : 0,
      };
    });
    edge.append(ghost);
    const animation = ghost.animate(frames, { duration: TRAVEL_MS, easing: "ease-out" });
    this.#run(animation, () => ghost.remove());
  }

  #run(animation: Animation | undefined, after = () => {}): void {
    if (!animation) return;
    animation.addEventListener("finish", after);
    this.#running.push(() => {
      after();
      animation.cancel();
    });
  }
}

/** A gradient that is on its way along an edge. */
function gradientOf(element: Element): SVGGElement | undefined {
  if (!element.classList.contains("gv-flow")) return undefined;
  return element.querySelector<SVGGElement>(":scope > .gv-gradient") ?? undefined;
}
