"""The player in JupyterLab: Python and the browser follow each other, also when the kernel dies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Locator, Page, expect

from tests.browser.bare import axe_violations
from tests.browser.conftest import Shoot
from tests.browser.lab import Notebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[..., Notebook]

PROGRAM = """\
import torch, gradviz
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
with gradviz.record() as recording:
    out = a * b
    out.backward()
player = gradviz.show(recording, step=0)
player"""


def test_a_player_is_used_by_mouse_keys_and_python_saves_and_steps_on_without_a_kernel(
    notebook: Open, page: Page, shoot: Shoot, tmp_path: Path
) -> None:
    opened = notebook("player.ipynb", PROGRAM)
    opened.run_all()
    widget = opened.widget()
    widget.get_by_role("slider", name="Step").focus()
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.matches('.jp-Cell')")

    the_kernel_and_the_browser_follow_each_other(opened, page, widget)
    shoot("player-lab")
    assert axe_violations(page, ".gradviz-root") == []
    the_menu_saves_the_animation_that_the_kernel_draws(page, widget, tmp_path / "steps.svg")
    jupyterlab_takes_none_of_the_keys(page, widget)

    opened.python("setattr(player, 'detail', False)")
    widget.get_by_role("button", name="More about steps").click()
    expect(widget.get_by_role("button", name="Sub-steps")).to_have_attribute(
        "aria-pressed", "false"
    )
    opened.close()
    widget.get_by_role("slider", name="Step").focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(widget.locator(".gradviz-where")).to_contain_text("step 3 of")
    expect(widget.locator(".gradviz-tensors")).not_to_contain_text("3.0")
    page.keyboard.press("End")
    expect(widget.locator(".gradviz-tensors")).to_contain_text("3.0")


def the_kernel_and_the_browser_follow_each_other(
    opened: Notebook, page: Page, widget: Locator
) -> None:
    widget.get_by_role("button", name="Forward").click()
    page.keyboard.press("ArrowRight")
    opened.wait_for("player.step", "2")
    widget.get_by_role("button", name="Tensors").click()
    widget.locator(".gradviz-tensors").get_by_role("button", name="a", exact=True).click()
    opened.wait_for("recording.graph[player.selected].name", "'AccumulateGrad'")
    opened.python("setattr(player, 'step', -1)")
    expect(widget.locator(".gradviz-tensors")).to_contain_text("3.0")
    expect(widget.get_by_role("button", name="Forward")).to_have_attribute("aria-disabled", "true")
    opened.python("setattr(player, 'detail', True)")
    widget.get_by_role("button", name="More about steps").click()
    sub_steps = widget.get_by_role("button", name="Sub-steps")
    expect(sub_steps).to_have_attribute("aria-pressed", "true")


def the_menu_saves_the_animation_that_the_kernel_draws(
    page: Page, widget: Locator, file: Path
) -> None:
    widget.get_by_role("button", name="Copy or save").click()
    with page.expect_download() as download:
        widget.get_by_role("menuitem", name="save as animated SVG").click()
    download.value.save_as(file)
    svg = file.read_text("utf-8")
    assert "@keyframes" in svg
    assert "out = a * b" in svg
    expect(widget.get_by_role("menu")).to_be_hidden()
    widget.get_by_role("button", name="Copy or save").click()
    names = widget.get_by_role("group", name="save as").get_by_role("menuitem").all_inner_texts()
    assert {"PNG", "animated GIF"} <= set(names)


def jupyterlab_takes_none_of_the_keys(page: Page, widget: Locator) -> None:
    cells = page.locator(".jp-Notebook .jp-Cell")
    count = cells.count()
    for stop in (
        widget.get_by_role("button", name="Forward"),
        widget.get_by_role("slider", name="Step"),
        widget.get_by_role("button", name="out = a * b"),
        widget.locator(".gradviz-tensors button").first,
        widget.locator(".gradviz-word").first,
    ):
        stop.focus()
        for key in ("a", "b", "d", "d", "x", "]", "[", "Home"):
            page.keyboard.press(key)
        assert cells.count() == count
        expect(widget).to_be_visible()
