import { describe, expect, it } from "vitest";
import { parsePicture, scopeCss } from "../../src/graph/picture";

const SVG = 'xmlns="http://www.w3.org/2000/svg"';
const parse = (inside: string) => parsePicture(`<svg ${SVG}>${inside}</svg>`, "v1");

describe("a picture from a document", () => {
  it("keeps shapes, classes, data and words", () => {
    const { svg } = parse(
      '<g class="gv-node" data-id="n0" role="img" aria-label="url( image"><rect x="1" fill="red"/><text>a &lt; b</text></g>',
    );
    const node = svg.querySelector("[data-id=n0]");
    expect(node?.getAttribute("aria-label")).toBe("url( image");
    expect(node?.querySelector("rect")?.getAttribute("fill")).toBe("red");
    expect(node?.textContent).toBe("a < b");
  });

  it.each([
    "<script>alert(1)</script>",
    "<foreignObject><body xmlns='http://www.w3.org/1999/xhtml' onload='alert(1)'/></foreignObject>",
    "<image href='x.png'/>",
    "<use href='#a'/>",
    "<a href='javascript:alert(1)'><text>x</text></a>",
    "<animate attributeName='href' values='javascript:alert(1)'/>",
    "<set attributeName='onclick' to='alert(1)'/>",
    "<svg><script>alert(1)</script></svg>",
    "<handler>alert(1)</handler>",
    "<iframe xmlns='http://www.w3.org/1999/xhtml' src='javascript:alert(1)'/>",
    "<!-- comment --><?xml-stylesheet href='x.css'?>",
  ])("drops %s", (hostile) => {
    const { svg } = parse(hostile);
    expect(
      svg.querySelector("script, foreignObject, image, use, a, animate, set, iframe"),
    ).toBeNull();
    expect(svg.outerHTML).not.toMatch(/alert|href|x\.css/);
  });

  it.each([
    "onclick='alert(1)'",
    "onload='alert(1)'",
    "href='javascript:alert(1)'",
    "xmlns:xlink='http://www.w3.org/1999/xlink' xlink:href='javascript:alert(1)'",
    "fill='url(javascript:alert(1))'",
    "style='background:url(javascript:alert(1))'",
    "style='fill:u\\72l(alert)'",
    "tabindex='alert'",
  ])("drops the attribute %s", (hostile) => {
    expect(parse(`<rect ${hostile}/>`).svg.innerHTML).not.toMatch(/alert/);
  });

  it("gives every id the prefix of its view", () => {
    const { svg } = parse('<g id="gv-n0"><rect id="inner"/></g>');
    expect([...svg.querySelectorAll("[id]")].map(({ id }) => id)).toEqual(["v1-gv-n0", "v1-inner"]);
  });

  it("takes titles out, for a tooltip that can be dismissed", () => {
    const { svg, titles } = parse("<g><title>all of it</title><text>all…</text></g>");
    expect(svg.querySelector("title")).toBeNull();
    expect(titles.get(svg.firstElementChild as Element)).toBe("all of it");
  });

  it.each(["", "<svg", "<html/>", "plain text", `<g ${SVG}/>`])("refuses %j", (text) => {
    expect(() => parsePicture(text, "v1")).toThrow("not a readable SVG");
  });
});

describe("the style sheet of a picture", () => {
  it("acts inside gradviz only", () => {
    expect(scopeCss(".a{fill:red}@media print{.a{fill:blue}}")).toBe(
      ".gradviz-root{.a{fill:red}@media print{.a{fill:blue}}}",
    );
  });

  it.each([
    "a{background:url(x)}",
    "@import 'x.css';",
    "@font-face{font-family:x}",
    "a{background:image-set('x' 1x)}",
    "}body{display:none}.x{",
    ".x{",
    "a{background:u\\72l(x)}",
    'a{content:"{"}}body{display:none}',
    "/*}*/}body{display:none}{",
    "</style><script>",
  ])("is dropped when it is %j", (css) => {
    expect(scopeCss(css)).toBe("");
  });
});
