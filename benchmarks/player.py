"""A recording in the browser: its size, and the time from a key to the step's last state painted.

Motion is off, as for people who ask for none: it only leads to that state.
"""

from __future__ import annotations

import json
import statistics
from contextlib import suppress
from typing import Any

import torch

import gradviz
from benchmarks.browser import ABSENT, FLAGS, chromium
from benchmarks.report import Table
from gradviz.view.documents.graph import compress
from gradviz.view.widgets.base import STATIC

SIZES = (25, 100, 300)
AIMS = {100: 32, 300: 50}
"""Milliseconds of a step, 95 of 100 times."""

_MOUNT = """
async ([source, message]) => {
  const module = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  const state = JSON.parse(message);
  const heard = {};
  const model = {
    get: (key) => state[key],
    set(key, value) { state[key] = value; for (const f of heard["change:" + key] ?? []) f(); },
    save_changes() {},
    on: (event, listener) => (heard[event] ??= new Set()).add(listener),
    off: (event, listener) => heard[event]?.delete(listener),
  };
  const frame = () => new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
  const el = document.body.appendChild(document.createElement("div"));
  const abort = new AbortController();
  const start = performance.now();
  module.default.render({ model, el, signal: abort.signal });
  while (!el.querySelector("[data-ready=true] svg")) await new Promise((next) => setTimeout(next));
  await frame();
  const mounted = performance.now() - start;
  const height = el.getBoundingClientRect().height;
  const target = el.querySelector("button[aria-label=Forward]");
  const press = (key) =>
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const steps = [];
  for (const [edge, key] of [["Home", "ArrowRight"], ["End", "ArrowLeft"]]) {
    press(edge);
    await frame();
    for (let before = null; before !== state.step; ) {
      before = state.step;
      await frame();
      const from = performance.now();
      press(key);
      await frame();
      if (before !== state.step) steps.push(performance.now() - from);
    }
  }
  abort.abort();
  el.remove();
  return { mounted, height, steps };
}
"""


def chain(boxes: int) -> gradviz.Recording:
    """A loop of two operations a turn, and its backward."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with gradviz.record() as recording:
        h = w
        for _ in range((boxes - 2) // 2):
            h = h * 1.01 + w
        h.sum().backward()
    return recording


def run(quick: bool) -> dict[str, Any]:
    """Measure recordings of 25, 100 and 300 boxes."""
    program = chromium()
    with suppress(ImportError):
        from playwright.sync_api import sync_playwright

        if program is not None:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
                page = browser.new_page(
                    viewport={"width": 1030, "height": 646}, reduced_motion="reduce"
                )
                found = {
                    str(size): _measure(page, size, 1 if quick else 3)
                    for size in (SIZES[:1] if quick else SIZES)
                }
                browser.close()
            return found
    return {"failed": ABSENT}


def _measure(page: Any, size: int, rounds: int) -> dict[str, Any]:
    css, source = (STATIC / "widget.css").read_text(), (STATIC / "widget.js").read_text()
    page.set_content(f"<!doctype html><html lang=en><style>{css}</style><body></body></html>")
    recording = chain(size)
    document = gradviz.show(recording).wire
    message = json.dumps(
        {"selected": "", "height": 0, "theme": "auto", "step": -1, "wire": document}
    )
    many = [page.evaluate(_MOUNT, [source, message]) for _ in range(rounds)]
    steps = sorted(time for once in many for time in once["steps"])
    return {
        "boxes": len(recording.graph),
        "steps": len(many[0]["steps"]) // 2 + 1,
        "height": many[0]["height"],
        "kB": len(compress(document)["deflate"]) / 1e3,
        "mounted": statistics.median(once["mounted"] for once in many),
        "median": statistics.median(steps),
        "p95": steps[int(0.95 * (len(steps) - 1))],
    }


def tables(results: dict[str, Any]) -> list[Table]:
    """The results as a table."""
    title = "Player in a bare page: milliseconds of wall time"
    if "failed" in results:
        return [Table(title, [], [], (results["failed"],))]
    columns = ["boxes", "steps", "kB sent", "height", "first shown", "step, median", "p95", "aim"]
    rows = []
    for size, found in results.items():
        aim = AIMS.get(int(size))
        times = [f"{found[name]:.0f}" for name in ("kB", "height", "mounted", "median", "p95")]
        aims = "" if aim is None else f"< {aim}"
        rows.append([str(found["boxes"]), str(found["steps"]), *times, aims])
    return [Table(title, columns, rows, ("a screen shows a frame each 17 ms",))]
