from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Locator, Page, expect

from tests.browser.bare import axe_violations
from tests.browser.conftest import Shoot
from tests.browser.lab import Lab, Notebook
from tests.browser.machine import ROOT
from tests.browser.waiting import drawn

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[..., Notebook]

PROGRAM = """\
import torch, gradviz
torch.manual_seed(0)
x = torch.ones(5)
y = torch.zeros(3)
w = torch.randn(5, 3, requires_grad=True)
b = torch.randn(3, requires_grad=True)
z = x @ w + b
loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
picture = gradviz.show(loss)
picture"""


def card(widget: Locator, label: str) -> Locator:
    return widget.locator(".gradviz-viewport [data-id][role=img]", has_text=label).first


def cells(page: Page) -> Locator:
    return page.locator(".jp-Notebook .jp-Cell")


def test_a_picture_is_used_by_mouse_keys_and_python_in_each_theme_and_without_a_kernel(
    notebook: Open, page: Page, shoot: Shoot
) -> None:
    opened = notebook("first.ipynb", PROGRAM, "print(picture.selected)")
    opened.run_all()
    widget = opened.widget()
    shoot("lab-light")
    select_find_zoom_and_read_all(opened, page, widget)
    shoot("lab-light-outline")
    assert axe_violations(page, ".gradviz-root") == []
    widget.get_by_role("button", name="Outline").click()

    opened.python("setattr(picture, 'selected', 'n1')")
    details = widget.get_by_role("group", name="Details", exact=True)
    expect(details).to_contain_text("AddBackward0")
    opened.python("setattr(picture, 'selected', '')")
    expect(details).to_be_hidden()

    keys_stay_in_the_widget(opened, page, widget)
    widget.get_by_role("button", name="Fit").click()
    it_follows_the_theme(opened, page, widget, shoot)

    opened.close()
    card(widget, "MmBackward0").click()
    expect(details).to_contain_text("MmBackward0")


def select_find_zoom_and_read_all(opened: Notebook, page: Page, widget: Locator) -> None:
    card(widget, "AddBackward0").click()
    opened.wait_for("picture.graph[picture.selected].name", "'AddBackward0'")
    chosen = opened.python("picture.selected").strip("'")
    opened.command("notebook:move-cursor-down")
    opened.command("notebook:run-cell")
    expect(cells(page).nth(1).locator(".jp-OutputArea-output")).to_have_text(chosen)

    card(widget, "AddBackward0").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    opened.wait_for("picture.selected", "'n0'")
    page.keyboard.press("Escape")
    opened.wait_for("picture.selected", "''")

    widget.get_by_label("Find in the graph").fill("mmback")
    page.keyboard.press("Enter")
    opened.wait_for("picture.graph[picture.selected].name", "'MmBackward0'")
    expect(widget.get_by_role("status")).to_have_text("match 1 of 1: MmBackward0")

    before = card(widget, "MmBackward0").bounding_box()
    card(widget, "MmBackward0").focus()
    page.keyboard.press("+")
    after = card(widget, "MmBackward0").bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"] * 1.1

    widget.get_by_role("button", name="Outline").click()
    table = widget.get_by_role("table")
    for name in opened.python("' '.join(n.name for n in picture.graph.nodes)").strip("'").split():
        if name != "AccumulateGrad":
            expect(table).to_contain_text(name)


def keys_stay_in_the_widget(opened: Notebook, page: Page, widget: Locator) -> None:
    """JupyterLab takes none of them."""
    count = cells(page).count()
    for stop in (
        card(widget, "AddBackward0"),
        widget.get_by_role("button", name="Fit"),
        widget.get_by_role("button", name="Outline"),
    ):
        stop.focus()
        for key in ("a", "b", "x", "m", "d", "d", "ArrowDown", "ArrowUp", "Home"):
            page.keyboard.press(key)
    assert cells(page).count() == count
    assert opened.python("picture.graph.counts['nodes']") == "6"


def it_follows_the_theme(opened: Notebook, page: Page, widget: Locator, shoot: Shoot) -> None:
    expect(widget).to_have_attribute("data-theme", "light")
    opened.command("apputils:change-theme", {"theme": "JupyterLab Dark"})
    try:
        expect(widget).to_have_attribute("data-theme", "dark")
        card(widget, "AddBackward0").click()
        drawn(page)
        shoot("lab-dark")
        assert axe_violations(page, ".gradviz-root") == []
    finally:
        opened.command("apputils:change-theme", {"theme": "JupyterLab Light"})
        expect(widget).to_have_attribute("data-theme", "light")


def test_what_python_does_right_after_showing_is_seen(notebook: Open) -> None:
    at_once = (
        "\nfrom IPython.display import display"
        "\nlarger = gradviz.snapshot(loss.exp().sin())"
        "\ndisplay(picture)"
        "\npicture.selected = 'n1'"
        "\npicture.display_graph(larger)"
        "\npicture.selected = 'n7'"
    )
    opened = notebook("at_once.ipynb", PROGRAM.removesuffix("\npicture") + at_once)
    opened.run_all()
    widget = opened.widget()
    expect(card(widget, "SinBackward0")).to_be_visible()
    expect(widget.get_by_role("group", name="Details", exact=True)).to_contain_text("n7")


@pytest.mark.exhaustive
def test_two_widgets_and_one_shown_twice(notebook: Open, page: Page) -> None:
    opened = notebook("two.ipynb", PROGRAM, "picture", "other = gradviz.show(z.sum()); other")
    opened.run_all()
    one, again, other = (opened.widget(number) for number in range(3))
    card(one, "AddBackward0").click()
    expect(again.get_by_role("group", name="Details", exact=True)).to_contain_text("AddBackward0")
    opened.wait_for("other.selected", "''")
    card(other, "SumBackward0").click(position={"x": 24, "y": 12})
    opened.wait_for("other.selected", "'n0'")
    opened.wait_for("picture.graph[picture.selected].name", "'AddBackward0'")
    ids: list[Any] = page.evaluate(
        "() => [...document.querySelectorAll('.gradviz-root [id]')].map((e) => e.id)"
    )
    assert len(ids) == len(set(ids))


@pytest.fixture
def first_lesson(lab: Lab, page: Page) -> Iterator[Notebook]:
    shutil.copy(ROOT / "notebooks" / "01-which-tensors-remember.ipynb", lab.folder)
    opened = Notebook(page, lab, "01-which-tensors-remember.ipynb")
    yield opened
    opened.close()


SELECTIONS = (
    "sorted(w.selected for w in __import__('ipywidgets').widgets.widget._instances.values()"
    " if type(w).__name__ == 'Picture')"
)


@pytest.mark.exhaustive
def test_the_first_lesson_runs_and_its_pictures_are_used(
    first_lesson: Notebook, page: Page, shoot: Shoot
) -> None:
    first_lesson.run_all()
    # Between the two pictures are three questions.
    pictures = [first_lesson.widget(number) for number in (0, 4)]
    first_lesson.wait_for(SELECTIONS, "['', '']")
    errors = ".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']"
    expect(page.locator(errors)).to_have_count(0)

    card(pictures[1], "AddBackward0").focus()
    page.keyboard.press("Enter")
    first_lesson.wait_for(SELECTIONS, "['', 'n0']")
    card(pictures[0], "ToCopyBackward0").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(pictures[0].get_by_role("group", name="Details", exact=True)).to_contain_text(
        "MulBackward0"
    )
    first_lesson.wait_for(SELECTIONS, "['n0', 'n1']")
    shoot("lab-lesson")
    assert axe_violations(page, ".gradviz-root") == []
