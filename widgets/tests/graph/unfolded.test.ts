import { beforeEach, describe, expect, it } from "vitest";
import cuts from "../../../tests/golden/recording/cuts.json";
import { parseDocument } from "../../src/documents/parse";
import { lookOf } from "../../src/documents/pictures";
import type { RecordingDocument, StepPicture } from "../../src/documents/recording";
import { type Picture, parsePicture } from "../../src/graph/picture";
import { SvgIndex } from "../../src/graph/svg_index";
import { FullLooks, Unfolded } from "../../src/graph/unfolded";
import { Timeline } from "../../src/model/timeline";
import { wire as loss } from "../support/model";

const wire = parseDocument(cuts) as RecordingDocument;
const timeline = new Timeline(wire);
const window = { x: 0, y: 0, width: 1000, height: 560 };

/** The compact picture at a step, as the graph panel shows it. */
function pictureAt(step: number): { picture: Picture; index: SvgIndex } {
  const { svg } = wire.pictures.compact as StepPicture;
  const picture = parsePicture(svg, "v");
  for (const [key, variant] of timeline.state(step).at.get("compact") ?? [])
    picture.patch(key, lookOf(wire, "compact", key, variant));
  const index = new SvgIndex();
  index.read(picture.svg, timeline.content(step).items);
  return { picture, index };
}

describe("the full look of a card", () => {
  const looks = new FullLooks(wire);

  it("is the variant of the full picture at the step", () => {
    for (const step of [2, 4, 6]) {
      const variant = timeline.state(step).at.get("full")?.get("gv-n0") as number;
      expect(looks.of("n0", "compact", timeline, step)).toBe(
        lookOf(wire, "full", "gv-n0", variant),
      );
    }
  });

  it("is none where the picture is full already, or where there is no such card", () => {
    expect(looks.of("n0", "full", timeline, 4)).toBeUndefined();
    expect(looks.of("n99", "compact", timeline, 4)).toBeUndefined();
  });

  it("is found in the picture of a graph too", () => {
    const graph = new FullLooks(loss);
    const drawn = new DOMParser().parseFromString(loss.pictures.full ?? "", "image/svg+xml");
    const id = drawn.querySelector("[id^=gv-n][data-id]")?.getAttribute("data-id") ?? "";
    expect(graph.of(id, "compact", undefined, 0)).toContain(`data-id="${id}"`);
  });
});

describe("an unfolded card", () => {
  const step = 3;
  let shown: ReturnType<typeof pictureAt>;
  let unfolded: Unfolded;
  const show = (id: string, room = window) => {
    const markup = id ? new FullLooks(wire).of(id, "compact", timeline, step) : undefined;
    unfolded.show(shown.picture, shown.index, id, markup, room, 1);
    return shown.picture.svg.querySelector<SVGGElement>(".gradviz-unfolded");
  };
  beforeEach(() => {
    shown = pictureAt(step);
    unfolded = new Unfolded();
  });

  it("is a copy for the eye alone", () => {
    const before = new Set([...shown.picture.svg.querySelectorAll("[id]")].map(({ id }) => id));
    const element = show("n0");
    expect(element?.getAttribute("aria-hidden")).toBe("true");
    expect(element?.querySelector("[id], [data-id], [role], [tabindex], [aria-label]")).toBeNull();
    const ids = [...shown.picture.svg.querySelectorAll("[id]")].map(({ id }) => id);
    expect(new Set(ids)).toEqual(before);
    expect(ids).toHaveLength(before.size);
  });

  it("says more than the card", () => {
    const card = shown.index.cards.get("n0");
    expect(show("n0")?.textContent).toContain("line ");
    expect(card?.textContent).not.toContain("line ");
  });

  it("stands for its card where it is clicked", () => {
    const text = show("n0")?.querySelector("text") ?? null;
    expect(shown.index.at(text)).toBe("n0");
  });

  it("goes when another unfolds, and when none does", () => {
    show("n0");
    show("n1");
    expect(shown.picture.svg.querySelectorAll(".gradviz-unfolded")).toHaveLength(1);
    expect(show("")).toBeNull();
  });

  it("fades in when it is another than before", () => {
    const first = show("n0");
    expect(first?.classList).toContain("is-new");
    // It only moves where the window changes.
    expect(show("n0", { ...window, x: 40 })).toBe(first);
    expect(show("n1")?.classList).toContain("is-new");
  });

  it("has no ports: no edge leads to it", () => {
    expect(show("n0")?.querySelector(".gv-port, .gv-stub, .gv-root")).toBeNull();
  });

  it("needs a window", () => {
    expect(show("n0", { x: 0, y: 0, width: 0, height: 0 })).toBeNull();
  });

  it("moves nothing else", () => {
    const places = () =>
      [...shown.index.cards.values()].map((card) => card.getAttribute("transform"));
    const before = places();
    show("n0");
    expect(places()).toEqual(before);
  });
});
