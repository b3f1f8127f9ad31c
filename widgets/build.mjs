// Builds gradviz/view/static: the widget, one ES module without imports and one stylesheet; what loads
// it in a notebook (loader.js); what pages without a kernel are made of (page.*); what decks of slides
// are made of (deck.*).
// The same sources give the same bytes. `--watch` rebuilds, `--outdir DIR` writes elsewhere.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const PALETTE = fileURLToPath(new URL("../gradviz/view/palette.json", import.meta.url));

/** Lets a stylesheet `@import "palette"`: the colours that Python draws with, as variables. */
const palette = {
  name: "palette",
  setup(build) {
    build.onResolve({ filter: /^palette$/ }, () => ({ path: PALETTE, namespace: "palette" }));
    build.onLoad({ filter: /.*/, namespace: "palette" }, () => {
      const colours = Object.entries(JSON.parse(readFileSync(PALETTE, "utf8")));
      const variables = (theme) =>
        colours.map(([name, colour]) => `--gv-${name}: ${colour[theme]};`).join("\n");
      const contents = `.gradviz-root {\n${variables("light")}\n}
.gradviz-root[data-theme="dark"] {\n${variables("dark")}\n}\n`;
      return { contents, loader: "css", watchFiles: [PALETTE] };
    });
  },
};

const LICENCE = fileURLToPath(new URL("node_modules/reveal.js/LICENSE", import.meta.url));

/** Keeps the licence of reveal.js in what contains it, and so in every deck. */
const licensed = {
  name: "licence of reveal.js",
  setup(build) {
    build.initialOptions.write = false;
    build.onEnd(({ outputFiles = [] }) => {
      const licence = readFileSync(LICENCE, "utf8").trim();
      for (const { path, text } of outputFiles) {
        const head = /\bdeck\.(js|css)$/.test(path) ? `/* reveal.js\n${licence}\n*/\n` : "";
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, head + text);
      }
    });
  },
};

const outdir = process.argv.indexOf("--outdir") + 1;
const options = {
  absWorkingDir: fileURLToPath(new URL(".", import.meta.url)),
  entryPoints: [
    { in: "src/loader.ts", out: "loader" },
    { in: "src/index.ts", out: "widget" },
    { in: "src/styles.css", out: "widget" },
    { in: "src/pages/mount.ts", out: "page" },
    { in: "src/pages/page.css", out: "page" },
    { in: "src/pages/deck.ts", out: "deck" },
    { in: "src/pages/deck.css", out: "deck" },
  ],
  outdir: outdir > 0 ? process.argv[outdir] : "../gradviz/view/static",
  plugins: [palette, licensed],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
};

if (process.argv.includes("--watch")) {
  const context = await esbuild.context(options);
  await context.watch();
} else {
  await esbuild.build(options);
}
