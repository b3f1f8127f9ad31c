// @vitest-environment node
import { describe, expect, it } from "vitest";
import { fileName, textOf } from "../../src/export/save_menu";
import { documentAt } from "../../src/export/static_document";
import { wire as loss } from "../support/model";

const wire = documentAt(loss, undefined, 0, "full");

describe("save", () => {
  it.each([
    ["autograd graph of loss", "autograd-graph-of-loss.svg"],
    ["../../etc/passwd", "etc-passwd.svg"],
    ['a"><script>', "a-script.svg"],
    ["손실", "graph.svg"],
    ["x".repeat(300), `${"x".repeat(60)}.svg`],
  ])("names the file of %j %j", (title, name) => {
    expect(fileName(title, "svg")).toBe(name);
  });

  it("names an animation by its ending", () => {
    expect(fileName("recording of loss steps", "gif")).toBe("recording-of-loss-steps.gif");
  });

  it("gives the texts of the document unchanged", () => {
    expect(textOf(wire, "svg")).toBe(loss.pictures.full);
    expect(textOf(wire, "txt")).toBe(`${wire.text.trimEnd()}\n`);
    expect(textOf(wire, "json")).toBe(wire.json);
    const { json: _, ...small } = wire;
    expect(textOf(small, "json")).toBeUndefined();
  });
});
