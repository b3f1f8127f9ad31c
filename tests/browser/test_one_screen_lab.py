"""The player in JupyterLab on a laptop: what is in view when a cell has run, and its keys."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Shoot
from tests.browser.lab import Notebook
from tests.browser.test_one_screen import UNSEEN
from tests.browser.waiting import steady, timers_have_run

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[..., Notebook]

TEN_LINES = """\
import torch, gradviz
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
x, y = torch.randn(16, 3), torch.randn(16, 1)
with gradviz.record() as recording:
    prediction = model(x)
    loss = torch.nn.functional.mse_loss(prediction, y)
    loss.backward()
player = gradviz.show(recording)
player"""
FILLER = "\n".join(f"line_{number} = {number}" for number in range(12))

CELLS = """
() => {
  const { cells } = window.jupyterapp.shell.currentWidget.content.model.sharedModel;
  return cells.map((cell) => `${cell.cell_type}: ${cell.getSource()}`);
}
"""
KEYS = [
    *"abcdefghijklmnopqrstuvwxyz0123456",
    *("Shift+" + key for key in "ACJKLMORSTV"),
    *("Enter", "Space", "Delete", "Backspace", "ArrowUp", "ArrowDown", "Home", "End", "/", "-"),
]
"""What JupyterLab takes in command mode, and what the widget takes."""
PLACES = ("Forward", "slider", "caption", "card")
"""A button, what takes arrows itself, what cannot have the focus, and the picture."""


SCROLLS_WITHIN_MS = 200
"""More than the widget waits after its cell has run, as widgets/src/frame/arrival.ts says."""


def laptop(page: Page) -> None:
    page.set_viewport_size({"width": 1366, "height": 768})


def run_by_hand(page: Page, number: int) -> None:
    """Click into a cell and press Shift Enter, as a person does."""
    page.locator(".jp-Cell .cm-content").nth(number).click()
    page.keyboard.press("Shift+Enter")


def assert_soon_in_view(page: Page) -> None:
    """It scrolls a little later; then it stays."""
    page.wait_for_function(f"() => ({UNSEEN.strip()})().length === 0")
    timers_have_run(page, SCROLLS_WITHIN_MS)
    assert page.evaluate(UNSEEN) == []


def scrolled(page: Page) -> float:
    """How far, once it stays there."""
    return float(steady(page, "() => document.querySelector('.jp-WindowedPanel-outer').scrollTop"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("cells", [1, 4])
def test_after_shift_enter_all_of_it_is_in_view(
    notebook: Open, page: Page, shoot: Shoot, cells: int
) -> None:
    laptop(page)
    after = ["print('after')"] * 2
    opened = notebook(f"arrival_{cells}.ipynb", *[FILLER] * (cells - 1), TEN_LINES, *after)
    for number in range(cells):
        run_by_hand(page, number)
    widget = opened.widget()
    assert_soon_in_view(page)
    shoot(f"lab-arrival-{cells}")
    assert widget.evaluate("e => e.offsetHeight") <= 620
    widget.get_by_role("button", name="Forward").click()
    assert_soon_in_view(page)


@pytest.mark.exhaustive
def test_it_scrolls_for_nobody_who_went_elsewhere(
    notebook: Open, page: Page, tmp_path: Path
) -> None:
    laptop(page)
    elsewhere = tmp_path / "elsewhere"
    os.mkfifo(elsewhere)
    slow = f"open({str(elsewhere)!r}).read()\n{TEN_LINES}"
    opened = notebook("elsewhere.ipynb", FILLER, FILLER, slow, FILLER, FILLER)
    run_by_hand(page, 2)
    page.locator(".jp-Cell .cm-content").first.click()
    before = scrolled(page)
    elsewhere.write_text("")
    opened.widget()
    timers_have_run(page, SCROLLS_WITHIN_MS)
    assert scrolled(page) == before


@pytest.mark.exhaustive
def test_it_does_not_scroll_when_a_notebook_is_only_opened(notebook: Open, page: Page) -> None:
    laptop(page)
    opened = notebook("opened.ipynb", FILLER, FILLER, TEN_LINES, FILLER)
    run_by_hand(page, 2)
    opened.widget()
    page.wait_for_function("() => document.querySelector('.jp-WindowedPanel-outer').scrollTop > 0")
    opened.command("docmanager:save")
    page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
    page.reload()
    # A click into the first cell, as soon as there is one.
    page.locator(".jp-Cell .cm-content").first.click()
    opened.widget()
    timers_have_run(page, SCROLLS_WITHIN_MS)
    assert scrolled(page) == 0


def places(widget: Locator) -> dict[str, Callable[[], None]]:
    """Every kind of place at which the focus may be, and how it comes there."""
    steps = widget.get_by_role("group", name="Steps", exact=True)

    def click_card() -> None:
        widget.get_by_role("button", name="Fit", exact=True).click()
        widget.locator(".gradviz-viewport .gv-node[role=img][tabindex]").first.click()

    def unfold(name: str, inside: str) -> None:
        widget.get_by_role("button", name=name, exact=True).click()
        widget.locator(inside).first.focus()

    return {
        "Forward": lambda: steps.get_by_role("button", name="Forward").click(),
        "slider": widget.get_by_role("slider", name="Step").focus,
        "speed": lambda: unfold("More about steps", "select"),
        "zoom": lambda: unfold("More tools", "[aria-label='Zoom in']"),
        "code": lambda: widget.locator("button.gradviz-line").first.click(),
        "word": widget.locator(".gradviz-word").first.focus,
        "caption": lambda: widget.locator(".gradviz-told").click(position={"x": 4, "y": 100}),
        "card": click_card,
        "canvas": lambda: widget.locator(".gradviz-viewport").click(position={"x": 40, "y": 4}),
        "bar": lambda: widget.locator(".gradviz-bar").click(position={"x": 9, "y": 9}),
        "tensors": lambda: unfold("Tensors", ".gradviz-tensors button"),
        "outline": lambda: unfold("Outline", ".gradviz-outline button"),
        "separator": widget.get_by_role("separator").focus,
        "keys": lambda: unfold("More tools", "[aria-label='Keys']"),
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize("only", [PLACES, ()])
def test_no_key_reaches_the_notebook(notebook: Open, page: Page, only: tuple[str, ...]) -> None:
    laptop(page)
    opened = notebook("keys_of_all.ipynb", "1 + 1", TEN_LINES, "2 + 2", "3 + 3")
    run_by_hand(page, 1)
    widget = opened.widget()
    timers_have_run(page, SCROLLS_WITHIN_MS)
    before = page.evaluate(CELLS)
    there = places(widget)
    for place in only or there:
        there[place]()
        for key in KEYS:
            for _ in range(6):
                page.keyboard.press(key)
            assert page.evaluate(CELLS) == before, f"{key} at {place}"
        expect(widget).to_be_visible()
        for _ in range(4):
            if page.evaluate("() => document.activeElement.closest('.gradviz-root')"):
                page.keyboard.press("Escape")
