// Builds gradviz/view/static/widget.{js,css}: one ES module without imports and one stylesheet.
// The same sources give the same bytes. `--watch` rebuilds, `--outdir DIR` writes elsewhere.
import { readFileSync } from "node:fs";
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

const outdir = process.argv.indexOf("--outdir") + 1;
const options = {
  absWorkingDir: fileURLToPath(new URL(".", import.meta.url)),
  entryPoints: [
    { in: "src/index.ts", out: "widget" },
    { in: "src/styles.css", out: "widget" },
  ],
  outdir: outdir > 0 ? process.argv[outdir] : "../gradviz/view/static",
  plugins: [palette],
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
