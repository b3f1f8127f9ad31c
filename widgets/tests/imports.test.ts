// @vitest-environment node
import { describe, expect, it } from "vitest";

const sources = import.meta.glob<string>("../src/**/*.ts", {
  query: "?raw",
  import: "default",
  eager: true,
});
/** Folders and files of src; each imports from those before it only. */
const ORDER = [
  ..."lib documents model panel_context frame table graph player panels parts explanation report explore".split(
    " ",
  ),
  ..."export fallback keys app repair question index loader pages".split(" "),
];
const roomOf = (path: string) => path.split("/")[0]?.replace(/\.ts$/, "") ?? "";

describe("the folders of src", () => {
  const modules = Object.entries(sources).map(([path, text]) => {
    const own = path.replace("../src/", "");
    const imports = [...text.matchAll(/from "(\.[^"]+)"/g)].map(([, to]) =>
      new URL(to as string, `file:///${own}`).pathname.slice(1),
    );
    return { own, imports };
  });

  it("are all in the order", () => {
    expect(new Set(modules.map(({ own }) => roomOf(own)))).toEqual(new Set(ORDER));
  });

  it("import from those before them only", () => {
    const against = modules.flatMap(({ own, imports }) =>
      imports
        .filter((to) => roomOf(to) !== roomOf(own))
        .filter((to) => ORDER.indexOf(roomOf(to)) >= ORDER.indexOf(roomOf(own)))
        .map((to) => `${own} imports ${to}`),
    );
    expect(against).toEqual([]);
  });
});
