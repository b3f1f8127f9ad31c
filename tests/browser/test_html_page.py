"""The page that ``.save("graph.html")`` writes: one file, no network, no kernel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

import torch
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


def test_it_is_alive_in_the_frame_of_another_page(page: Page) -> None:
    a = torch.tensor(2.0, requires_grad=True)
    with gradviz.record() as recording:
        (a * a).backward()
    page.set_content(f"<h1>A page of documentation</h1>{recording._repr_html_()}")
    frame = page.frame_locator("iframe")
    for ground, theme in (("#222", "dark"), ("#eee", "light")):
        page.evaluate("ground => document.body.style.background = ground", ground)
        expect(frame.locator("html")).to_have_attribute("data-theme", theme)
        expect(frame.locator(".gradviz-root")).to_have_attribute("data-theme", theme)
    expect(frame.locator(".gradviz-root[data-ready=true]")).to_be_visible()
    slider = frame.get_by_role("slider", name="Step")
    before = int(slider.input_value())
    frame.get_by_role("button", name="Forward").click()
    expect(slider).to_have_value(str(before + 1))
    assert frame.locator("html").evaluate("e => e.scrollHeight - e.clientHeight") <= 0


def test_it_shows_the_picture_without_scripts(browser: Any, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(save(tmp_path))
    expect(page.locator("svg.gradviz-svg, img").first).to_be_visible()
    context.close()


def save_recording(folder: Path) -> str:
    a = torch.tensor(2.0, requires_grad=True)
    with gradviz.record() as recording:
        out = a * a
        out.backward()
    file = folder / "steps.html"
    gradviz.show(recording).save(file)
    return file.as_uri()


def opened(page: Page, address: str) -> Any:
    page.goto(address)
    widget = page.locator(".gradviz-root[data-ready=true]")
    widget.wait_for()
    return widget.get_by_role("slider", name="Step")


def test_the_address_of_a_recording_names_the_step(page: Page, tmp_path: Path) -> None:
    address = save_recording(tmp_path)
    slider = opened(page, f"{address}#step=3&sel=n0")
    expect(slider).to_have_value("3")
    expect(page.locator(".gradviz-viewport [data-id='n0']").first).to_have_class(
        re.compile("is-selected")
    )
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_value("4")
    page.wait_for_url(f"{address}#step=4&sel=n0")
    page.evaluate("location.hash = 'step=1'")
    expect(slider).to_have_value("1")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("#step=2"))
    page.go_back()
    expect(slider).to_have_value("4")
    page.go_forward()
    expect(slider).to_have_value("2")


def test_arrow_keys_step_at_once_and_the_title_is_the_code(page: Page, tmp_path: Path) -> None:
    slider = opened(page, save_recording(tmp_path))
    assert page.title() == "out = a * a"
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_value("2")
    page.keyboard.press("ArrowLeft")
    expect(slider).to_have_value("1")
    page.locator(".gradviz-find input").focus()
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_value("1")
