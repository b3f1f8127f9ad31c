"""Time from the end of a cell until its widget is visible, in JupyterLab in headless Chromium."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.browser import ABSENT, FLAGS, chromium
from benchmarks.processes import ROOT
from benchmarks.report import Table, times

GRAPH = "from benchmarks.graphs import mlp\nloss = mlp({size})"
RECORDING = "from benchmarks.player import chain\nrecording = chain({size})"
CASES = {
    "25": (GRAPH.format(size=25), "gradviz.show(loss)", 300),
    "400": (GRAPH.format(size=400), "gradviz.show(loss)", 1500),
    "25, recorded": (RECORDING.format(size=25), "gradviz.show(recording)", 300),
}
"""By number of boxes: what is made, what shows it, and the aim, milliseconds after the cell."""
TOKEN = "benchmark"

# Runs a cell; times are from its start. The cell ends when the kernel wrote its reply: by the date
# in the reply, since the page may be busy drawing and notice it late. The widget is visible when
# the frame after the one that holds it has been made.
_RUN = """
async (place) => {
  const panel = window.jupyterapp.shell.currentWidget;
  const now = () => performance.timeOrigin + performance.now();
  panel.content.activeCellIndex = place;
  const cell = panel.content.widgets[place].node;
  cell.scrollIntoView();
  let end = null;
  const listen = (_, { direction, msg }) => {
    if (direction === "recv" && msg.header.msg_type === "execute_reply")
      end = Date.parse(msg.header.date);
  };
  const kernel = panel.sessionContext.session.kernel;
  kernel.anyMessage.connect(listen);
  const start = now();
  const visible = (async () => {
    while (!cell.querySelector(".gradviz-root[data-ready=true] svg .gv-node")) {
      if (now() - start > 30000) return null;
      await new Promise((next) => requestAnimationFrame(next));
    }
    await new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
    return now() - start;
  })();
  await window.jupyterapp.commands.execute("notebook:run-cell");
  const seen = await visible;
  kernel.anyMessage.disconnect(listen);
  return { end: end - start, visible: seen };
}
"""


def run(quick: bool) -> dict[str, Any]:
    """Each case in a notebook of its own; the first cell of each imports everything."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return {"failed": ABSENT}
    program = chromium()
    if program is None:
        return {"failed": ABSENT}
    found: dict[str, Any] = {}
    rounds = 1 if quick else 5
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(CASES):
            Path(folder, f"{number}.ipynb").write_text(json.dumps(_notebook(case, rounds)))
        with _server(Path(folder)) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
            for number, case in enumerate(CASES):
                page = browser.new_page(viewport={"width": 1200, "height": 900})
                found[case] = _measure(page, f"{url}/lab/tree/{number}.ipynb", rounds)
                page.close()
            browser.close()
    return found


def _notebook(case: str, rounds: int) -> dict[str, Any]:
    making, showing, _ = CASES[case]
    sources = [f"import gradviz\n{making}", *[showing] * rounds]
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "id": f"cell-{i}",
            "metadata": {},
            "source": source,
            "outputs": [],
            "execution_count": None,
        }
        for i, source in enumerate(sources)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    private = tempfile.TemporaryDirectory()
    names = ["JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"]
    names += ["JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR"]
    environment = os.environ | {name: str(Path(private.name, name)) for name in names}
    environment["PYTHONPATH"] = str(ROOT)
    environment["JUPYTER_PREFER_ENV_PATH"] = "1"
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--ip=127.0.0.1"]
    command += [f"--port={port}", f"--IdentityProvider.token={TOKEN}", "--allow-root"]
    command += ["--expose-app-in-browser", f"--ServerApp.root_dir={folder}"]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet, cwd=folder)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(server, f"{url}/api/status?token={TOKEN}")
        yield url
    finally:
        server.terminate()
        server.wait(20)
        private.cleanup()


def _wait(server: subprocess.Popen[bytes], url: str) -> None:
    for _ in range(600):
        if server.poll() is not None:
            raise RuntimeError(f"JupyterLab ended with exit code {server.returncode}")
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("JupyterLab did not start within a minute")


def _measure(page: Any, url: str, rounds: int) -> dict[str, Any]:
    page.goto(f"{url}?token={TOKEN}&reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    page.wait_for_function(
        "() => { const k = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;"
        " return k && k.connectionStatus === 'connected' && k.status === 'idle'; }",
        timeout=60_000,
    )
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.ready.then(() => 0)")
    # The first cell shows nothing.
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-cell').then(() => 0)")
    many = [page.evaluate(_RUN, place) for place in range(1, rounds + 1)]
    if any(one["visible"] is None for one in many):
        return {"failed": "no widget within 30 s"}
    after = [one["visible"] - one["end"] for one in many]
    return {
        "cell": _spread([one["end"] for one in many]),
        "visible": _spread([one["visible"] for one in many]),
        "after the end": _spread(after),
    }


def _spread(values: list[float]) -> dict[str, float]:
    middle = sorted(values)[len(values) // 2]
    return {"first": values[0], "best": min(values), "median": middle}


def tables(results: dict[str, Any]) -> list[Table]:
    """The results as a table."""
    title = "JupyterLab: milliseconds of wall time, best / median"
    if "failed" in results:
        return [Table(title, [], [], (results["failed"],))]
    columns = ["boxes", "cell", "cell and widget", "after the end", "first time", "aim"]
    rows, remarks = [], []
    for size, found in results.items():
        if "failed" in found:
            remarks.append(f"{size} boxes: {found['failed']}")
            continue
        after = found["after the end"]
        cells = [times(found[name], 0) for name in ("cell", "visible", "after the end")]
        rows.append([size, *cells, f"{after['first']:.0f}", f"< {CASES[size][2]}"])
    remarks.append("after the end: below zero, the widget was there before the kernel's reply")
    return [Table(title, columns, rows, tuple(remarks))]
