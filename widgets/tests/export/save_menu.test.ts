import { describe, expect, it } from "vitest";
import { fileName, textOf } from "../../src/export/save_menu";
import { wire } from "../support/model";

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

  it("gives the texts of the document unchanged", () => {
    expect(textOf(wire, "svg")).toBe(wire.svg);
    expect(textOf(wire, "txt")).toBe(`${wire.text.trimEnd()}\n`);
    expect(textOf(wire, "json")).toBe(wire.json);
    const { json: _, ...small } = wire;
    expect(textOf(small, "json")).toBeUndefined();
  });
});
