"""What works in marimo, which shows anywidgets and knows no other widgets of Jupyter."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
if os.environ.get("GRADVIZ_REQUIRE_BROWSER") != "1":
    pytest.importorskip("marimo", reason="marimo is not installed: pip install marimo")

from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import Shoot
from tests.browser.lab import serving
from tests.browser.machine import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

APP = """\
import marimo

app = marimo.App()


@app.cell
def _():
    import gradviz
    import torch
    return gradviz, torch


@app.cell
def _(gradviz):
    def program(a, b, retain_grad=False):
        y = a * b
        if retain_grad:
            y.retain_grad()
        y.backward()
        return {"y": y}

    gradviz.explore(program, a=2.0, b=3.0)
    return


@app.cell
def _(gradviz, torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with gradviz.record() as recording:
        loss = (w * w).sum()
        loss.backward()
    gradviz.show(recording)
    return


@app.cell
def _(gradviz, torch):
    model = torch.nn.Linear(2, 1)
    gradviz.audit(model(torch.ones(2)).sum(), model)
    return
"""
WIDGETS = 3


@pytest.fixture
def app(tmp_path: Path) -> Path:
    file = tmp_path / "app.py"
    file.write_text(APP, "utf-8")
    return file


def environment(home: Path) -> dict[str, str]:
    """Nothing of the user's settings is read or written."""
    own = {"HOME": str(home), "PYTHONPATH": str(ROOT), "MARIMO_SKIP_UPDATE_CHECK": "1"}
    own |= {f"XDG_{name}_HOME": str(home / name) for name in ("CONFIG", "CACHE", "STATE", "DATA")}
    return {**os.environ, **own}


@contextmanager
def running(app: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "-q", "run", str(app), "--headless", "--no-token"]
    command += ["--port", str(port), "--no-sandbox"]
    url = f"http://127.0.0.1:{port}"
    with serving(command, environment(app.parent), app.with_suffix(".log"), f"{url}/health"):
        yield url


def exported(app: Path) -> str:
    page = app.with_suffix(".html")
    command = [sys.executable, "-m", "marimo", "-y", "-q", "export", "html", str(app)]
    command += ["-o", str(page), "--no-sandbox"]
    done = subprocess.run(
        command, env=environment(app.parent), capture_output=True, text=True, check=False
    )
    assert page.is_file(), done.stderr[-2000:]
    return page.read_text("utf-8")


def serve(page: Page, html: str) -> None:
    """Open an exported page; the front end that it loads from the network comes from marimo."""
    spec = find_spec("marimo")
    assert spec is not None
    assert spec.origin is not None
    files = Path(spec.origin).parent / "_static"

    def answer(route: Route) -> None:
        address = route.request.url.partition("?")[0]
        file = files / address.partition("/dist/")[2]
        if address == "http://exported.test/":
            route.fulfill(body=html, content_type="text/html")
        elif "/dist/" in address and file.is_file():
            route.fulfill(path=file, headers={"access-control-allow-origin": "*"})
        else:
            route.abort()

    page.route("**/*", answer)
    page.goto("http://exported.test/")


def widgets(page: Page) -> Locator:
    found = page.locator(".gradviz-root[data-ready=true]")
    expect(found).to_have_count(WIDGETS, timeout=60_000)
    return found


def leaf(widget: Locator, words: str) -> Locator:
    return widget.locator(".gradviz-viewport .gv-leaf", has_text=words)


def test_inputs_act_while_the_app_runs(app: Path, page: Page, shoot: Shoot) -> None:
    page.set_viewport_size({"width": 1366, "height": 768})
    with running(app) as url:
        page.goto(url)
        explorer = widgets(page).first
        slider = explorer.get_by_role("slider", name="a, slider")
        expect(slider).to_be_enabled()
        slider.focus()
        for _ in range(10):
            page.keyboard.press("ArrowRight")
        expect(leaf(explorer, "a3.0")).to_have_count(1)
        expect(leaf(explorer, ".grad 3.0")).to_have_count(2)
        expect(explorer.locator(".gradviz-value")).to_have_text("y = 9.0")
        expect(explorer.get_by_label("a", exact=True)).to_have_value("3")
        explorer.get_by_label("retain_grad", exact=True).check()
        changed = explorer.locator(".gradviz-changed li")
        expect(changed).to_have_text(["y: retains_grad False → True; .grad None → 1.0"])
        shoot("marimo-explore")
        explorer.get_by_role("button", name="Reset").click()
        expect(leaf(explorer, "a2.0")).to_have_count(1)
        expect(leaf(explorer, ".grad 2.0")).to_have_count(1)
        expect(explorer.locator(".gradviz-value")).to_have_text("y = 6.0")
        expect(explorer.get_by_label("retain_grad", exact=True)).not_to_be_checked()


def test_an_exported_page_steps_without_a_kernel(app: Path, page: Page, shoot: Shoot) -> None:
    serve(page, exported(app))
    shown = widgets(page)
    player = page.locator(".gradviz-root.has-steps")
    caption: Any = player.locator(".gradviz-sentence")
    expect(caption).to_have_text("3 nodes are ready. Press → to send the gradient back.")
    player.get_by_role("slider", name="Step").focus()
    page.keyboard.press("End")
    expect(player.locator(".gradviz-viewport .gv-leaf")).to_contain_text(".grad [2.0, 4.0]")
    page.keyboard.press("Home")
    expect(player.locator(".gradviz-viewport")).not_to_contain_text("[2.0, 4.0]")
    expect(page.locator(".gradviz-report-table tbody tr")).to_have_count(2)

    explorer = shown.first
    expect(explorer.locator(".gradviz-progress")).to_contain_text("No answer from Python")
    expect(explorer.get_by_role("slider", name="a, slider")).to_be_disabled()
    expect(leaf(explorer, "a2.0")).to_have_count(1)
    shoot("marimo-exported")
    page.unroute_all(behavior="wait")  # no answer is left waiting for a page that is gone
