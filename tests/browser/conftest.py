"""Headless Chromium for the tests in this folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.browser.machine import CHROMIUM_FLAGS, ROOT, SCREENSHOTS, chromium, unavailable

# The test files skip themselves without playwright; where it is required that must not pass.
if os.environ.get("GRADVIZ_REQUIRE_BROWSER") == "1" and find_spec("playwright") is None:
    raise pytest.UsageError("playwright is not installed (GRADVIZ_REQUIRE_BROWSER=1)")

Shoot = Callable[[str], None]

PATIENCE_MS = 8_000
"""How long is waited for what must come, also on a machine that is busy."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    try:
        from playwright.sync_api import expect, sync_playwright
    except ImportError:
        unavailable("playwright is not installed: pip install playwright")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=list(CHROMIUM_FLAGS))
        yield started
        started.close()


def new_context(browser: Any) -> Any:
    context = browser.new_context(
        viewport={"width": 1000, "height": 800}, reduced_motion="reduce", accept_downloads=True
    )
    context.set_default_timeout(PATIENCE_MS)
    return context


@pytest.fixture(scope="session")
def lab_context(browser: Any) -> Iterator[Any]:
    """Where JupyterLab is opened: its scripts are loaded and compiled for the first page only."""
    context = new_context(browser)
    yield context
    context.close()


@pytest.fixture
def page(request: pytest.FixtureRequest, browser: Any) -> Iterator[Any]:
    """A page that asks for no motion, and fails the test when a script of ours throws."""
    is_shared = "lab" in request.fixturenames
    context = request.getfixturevalue("lab_context") if is_shared else new_context(browser)
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    opened.close()
    if not is_shared:
        context.close()
    # JupyterLab's own theme change throws a removeChild error; it is not ours to mend.
    assert [e for e in errors if "removeChild" not in e] == []


@pytest.fixture
def bare(page: Any) -> Any:
    from tests.browser.bare import Bare

    return Bare(page)


@pytest.fixture
def wire() -> Any:
    fixture = ROOT / "widgets" / "tests" / "fixtures" / "loss.json"
    return json.loads(fixture.read_text("utf-8"))


@pytest.fixture(scope="session")
def lab(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A JupyterLab server for the whole run."""
    if find_spec("jupyterlab") is None:
        unavailable("JupyterLab is not installed: pip install 'gradviz-kit[lab]'")
    from tests.browser.lab import running_lab

    folder = tmp_path_factory.mktemp("notebooks")
    with running_lab(tmp_path_factory.mktemp("home"), folder) as server:
        yield server


@pytest.fixture
def notebook(lab: Any, page: Any) -> Iterator[Any]:
    """Opens a notebook made of the given cells."""
    from tests.browser.lab import Notebook

    opened: list[Notebook] = []

    def open_notebook(name: str, *cells: str) -> Notebook:
        # Counts as a stored notebook has them: they are from a kernel that ended long ago.
        made: list[dict[str, Any]] = [
            {
                "cell_type": "code",
                "id": f"cell-{number}",
                "metadata": {},
                "source": source,
                "outputs": [],
                "execution_count": 90 + number,
            }
            for number, source in enumerate(cells)
        ]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        document = {
            "cells": made,
            "metadata": {"kernelspec": kernel},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (lab.folder / name).write_text(json.dumps(document), "utf-8")
        opened.append(Notebook(page, lab, name))
        return opened[-1]

    yield open_notebook
    for each in opened:
        each.close()


@pytest.fixture
def shoot(page: Any) -> Shoot:
    """Keep a picture of the page under build/screenshots, to be looked at."""

    def keep(name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png")

    return keep
