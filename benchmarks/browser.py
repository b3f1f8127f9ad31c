"""Time from the widget's message until the picture is on screen, in headless Chromium."""

from __future__ import annotations

import json
import os
import shutil
import statistics
from contextlib import suppress
from typing import Any

import gradviz
from benchmarks.graphs import mlp
from benchmarks.report import Table, times
from gradviz.view.documents.graph import graph_document
from gradviz.view.widgets.base import STATIC

SIZES = (25, 100, 400)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
ABSENT = "not measured: no Chromium (set GRADVIZ_CHROMIUM to its program) or no playwright"

# The clock starts with the text of the message and stops when the picture is in the document,
# and again when the frame that shows it has been made.
_MOUNT = """
async ([source, message]) => {
  const start = performance.now();
  const module = (window.loaded ??= {})[source.length] ??= await import(
    URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  const ready = performance.now();
  const state = JSON.parse(message);
  const model = { get: (key) => state[key], set() {}, save_changes() {}, on() {}, off() {} };
  const el = document.body.appendChild(document.createElement("div"));
  const abort = new AbortController();
  module.default.render({ model, el, signal: abort.signal });
  while (!el.querySelector("svg .gv-node")) await new Promise((next) => setTimeout(next));
  const inDocument = performance.now();
  await new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
  const painted = performance.now();
  abort.abort();
  el.remove();
  return { "bundle": ready - start, "in the document": inDocument - ready,
           "painted": painted - ready };
}
"""


def chromium() -> str | None:
    """The browser's program."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    asked = os.environ.get("GRADVIZ_CHROMIUM")
    return asked or next(filter(None, map(shutil.which, names)), None)


def run(quick: bool) -> dict[str, Any]:
    """Measure widgets of 25, 100 and 400 boxes."""
    program = chromium()
    with suppress(ImportError):
        from playwright.sync_api import sync_playwright

        if program is not None:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
                page = browser.new_page(viewport={"width": 1000, "height": 800})
                found = _measure(page, SIZES[:1] if quick else SIZES, 2 if quick else 12)
                browser.close()
            return found
    return {"failed": ABSENT}


def _measure(page: Any, sizes: tuple[int, ...], rounds: int) -> dict[str, Any]:
    css, source = (STATIC / "widget.css").read_text(), (STATIC / "widget.js").read_text()
    page.set_content(f"<!doctype html><html lang=en><style>{css}</style><body></body></html>")
    messages = {size: _message(size) for size in sizes}
    found: dict[int, list[dict[str, float]]] = {size: [] for size in sizes}
    bundle: list[float] = []
    for _ in range(rounds):
        for size, message in messages.items():
            once = page.evaluate(_MOUNT, [source, message])
            bundle.append(once.pop("bundle"))
            found[size].append(once)
    results: dict[str, Any] = {"bundle": bundle[0]}
    for size, many in found.items():
        results[str(size)] = {
            name: {
                "first": many[0][name],
                "best": min(one[name] for one in many),
                "median": statistics.median(one[name] for one in many),
            }
            for name in many[0]
        }
    return results


def _message(size: int) -> str:
    state = {"selected": "", "height": 0, "engine_arrows": False, "theme": "auto"}
    return json.dumps({**state, "wire": graph_document(gradviz.snapshot(mlp(size)))})


def tables(results: dict[str, Any]) -> list[Table]:
    """The results as a table."""
    title = "Bare page: milliseconds of wall time from the message, best / median"
    if "failed" in results:
        return [Table(title, [], [], (results["failed"],))]
    columns = ["boxes", "svg in the document", "painted", "painted the first time"]
    rows = []
    for size, found in results.items():
        if size != "bundle":
            document, painted = found["in the document"], found["painted"]
            first = f"{painted['first']:.0f}"
            rows.append([size, times(document, 0), times(painted, 0), first])
    return [Table(title, columns, rows, (f"loading the bundle: {results['bundle']:.0f} ms",))]
