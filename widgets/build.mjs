// Builds gradviz/view/static/widget.{js,css}: one ES module without imports and one stylesheet.
// The same sources give the same bytes. `--watch` rebuilds, `--outdir DIR` writes elsewhere.
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const outdir = process.argv.indexOf("--outdir") + 1;
const options = {
  absWorkingDir: fileURLToPath(new URL(".", import.meta.url)),
  entryPoints: [
    { in: "src/index.ts", out: "widget" },
    { in: "src/styles.css", out: "widget" },
  ],
  outdir: outdir > 0 ? process.argv[outdir] : "../gradviz/view/static",
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
