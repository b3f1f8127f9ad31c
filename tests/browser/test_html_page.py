"""The page that ``.save("graph.html")`` writes: one file, no network, no kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page, expect

import gradviz
from tests.browser.bare import axe_violations
from tests.browser.conftest import Shoot
from tests.programs import named

pytestmark = pytest.mark.browser


def save(folder: Path) -> str:
    built = named("linear_relu").build()
    file = folder / "graph.html"
    gradviz.show(*built.outputs, names=built.names).save(file)
    return file.as_uri()


def test_it_is_interactive_and_asks_for_nothing(page: Page, tmp_path: Path, shoot: Shoot) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    address = save(tmp_path)
    page.goto(address)
    widget = page.locator(".gradviz-root[data-ready=true]")
    widget.wait_for()
    widget.locator("[data-id='n0']").first.click()
    expect(widget.get_by_role("group", name="Details", exact=True)).to_contain_text("n0")
    assert {url for url in asked if not url.startswith(("data:", "blob:"))} == {address}
    shoot("page-html")
    assert axe_violations(page, ".gradviz-root") == []


def test_it_shows_the_picture_without_scripts(browser: Any, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(save(tmp_path))
    expect(page.locator("svg.gradviz-svg, img").first).to_be_visible()
    context.close()
