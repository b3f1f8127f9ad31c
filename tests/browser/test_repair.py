"""Programs to repair: the built bundle by itself, and one repair in JupyterLab from end to end."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page, expect

from gradviz.teach.repair import repair as module
from gradviz.teach.repair.exercise import Program, exercise_of_course
from gradviz.view.widgets.repair import RepairView
from tests.browser.bare import Bare, axe_violations
from tests.browser.conftest import Shoot
from tests.browser.lab import Notebook
from tests.browser.waiting import drawn

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[..., Notebook]
NAME = "keep-the-state"
EXERCISE = exercise_of_course(NAME)
assert EXERCISE.program is not None
PROGRAMS: dict[str, Program] = {
    "broken": EXERCISE.program,
    "zeros": EXERCISE.wrong[0].program,
    "solved": EXERCISE.solutions[0],
}


def wire_of(state: str, asked: int = 0) -> Any:
    module._asked.clear()
    found = module.Repair(NAME, EXERCISE, PROGRAMS[state])
    module._asked[NAME] = asked
    view = RepairView(found.attempt, found.hint, *found._player(), found._options)
    module._asked.clear()
    wire = json.loads(json.dumps(view.wire))
    view.close()
    return wire


@pytest.mark.parametrize(
    ("width", "theme"),
    [
        (1000, "light"),
        pytest.param(1000, "dark", marks=pytest.mark.exhaustive),
        pytest.param(400, "light", marks=pytest.mark.exhaustive),
        pytest.param(400, "dark", marks=pytest.mark.exhaustive),
    ],
)
def test_each_state_is_whole_and_accessible(
    bare: Bare, page: Page, shoot: Shoot, width: int, theme: str
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for state, asked in (("broken", 0), ("zeros", 2), ("broken", 4), ("solved", 0)):
        widget = bare.mount(wire_of(state, asked), theme=theme)
        expect(widget.root.first).to_be_visible()
        drawn(page)
        assert axe_violations(page, "#one") == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        shoot(f"repair-{state}-{asked}-{width}-{theme}")
        widget.unmount()


def test_before_a_hint_nothing_of_it_is_in_the_page(bare: Bare) -> None:
    widget = bare.mount(wire_of("broken"), kernel="ended")
    text = widget.page.content()
    assert not [hint for hint in EXERCISE.hints if hint.replace("`", "") in text]
    expect(widget.root.locator(".gradviz-repair-player")).to_be_empty()
    expect(widget.root.get_by_role("button", name="Hint 1 of 3")).to_be_visible()


def test_what_happened_is_said_and_told_apart_without_colour(bare: Bare) -> None:
    widget = bare.mount(wire_of("zeros"), kernel="ended")
    row = widget.root.get_by_role("row", name="u.grad")
    expect(row).to_contain_text("✗")
    expect(row).to_contain_text("wrong:")
    said = widget.root.get_by_role("status").first
    expect(said).to_contain_text("Not repaired yet. h: expected 4.25, found 0.0.")
    expect(said).to_contain_text("A state of zeros is handed over")


def test_a_page_without_a_kernel_says_so_and_offers_no_hint(bare: Bare) -> None:
    widget = bare.mount(wire_of("broken"))
    expect(widget.root.get_by_role("status").first).to_contain_text("This page has no kernel")
    expect(widget.root.get_by_role("button", name="Hint 1 of 3")).to_have_count(0)


def test_when_the_kernel_has_ended_the_button_says_what_to_do(bare: Bare, page: Page) -> None:
    widget = bare.mount(wire_of("broken"), kernel="ended")
    button = widget.root.get_by_role("button", name="Hint 1 of 3")
    button.focus()
    page.keyboard.press("Enter")
    said = widget.root.get_by_role("status").first
    expect(said).to_have_text("Hints come from Python, and it does not answer: run the cell again.")
    expect(said).to_be_in_viewport()
    expect(button).to_be_focused()


def test_a_repaired_program_is_stepped_through_without_python(bare: Bare, page: Page) -> None:
    widget = bare.mount(wire_of("solved"))
    player = widget.root.locator(".gradviz-repair-player .gradviz-root")
    expect(player.locator(".gradviz-caption")).to_contain_text("backward 2 starts at loss")
    player.get_by_role("button", name=re.compile("^Forward")).focus()
    page.keyboard.press("Enter")
    expect(player.locator(".gradviz-caption")).not_to_contain_text("backward 2 starts")


BROKEN = """\
import torch, gradviz

@gradviz.repair("add-in-place")
def program(x):
    e = x.exp()
    e.add_(1)
    loss = e.log().sum()
    loss.backward()
    return loss
"""


def edit(page: Page, before: str, after: str) -> None:
    """As somebody does who has a keyboard: select a line of the first cell and type another."""
    editor = page.locator(".jp-Notebook .jp-Cell .cm-content").first
    editor.click()
    line = editor.locator(".cm-line", has_text=before)
    line.click()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+End")
    page.keyboard.type(after)
    page.keyboard.press("Control+Enter")


def test_a_learner_asks_for_hints_edits_the_cell_and_repairs_it(
    notebook: Open, page: Page, shoot: Shoot
) -> None:
    opened = notebook("repair.ipynb", BROKEN, "gradviz.hint()")
    opened.command("notebook:run-cell")
    widget = opened.widget()
    expect(widget.locator(".gradviz-repair-head")).to_have_text("Not repaired yet")
    expect(widget.locator(".gradviz-numbered li")).to_have_count(0)
    shoot("lab-repair-broken")

    widget.get_by_role("button", name="Hint 1 of 3").focus()
    page.keyboard.press("Enter")
    expect(widget.locator(".gradviz-numbered li")).to_have_count(1)
    expect(widget.get_by_role("button", name="Hint 2 of 3")).to_be_focused()
    expect(widget.get_by_role("status").first).to_contain_text("Hint 1: Which node needs")

    edit(page, "add_", "e = torch.Tensor.mul(e, 1)")
    known = widget.locator(".gradviz-repair-verdict .is-known")
    expect(known).to_contain_text("nothing is added any more")
    expect(widget.locator(".gradviz-numbered li")).to_have_count(1)
    for number in (2, 3):
        expect(widget.locator(".gradviz-repair-player")).to_be_empty()
        widget.get_by_role("button", name=f"Hint {number} of 3").click()
        expect(widget.locator(".gradviz-numbered li")).to_have_count(number)
    widget.get_by_role("button", name="Explanation").click()
    expect(widget.locator(".gradviz-repair-solution")).to_contain_text("e = e.add(1)")
    expect(widget.locator(".gradviz-repair-player .gradviz-root")).to_be_visible()
    shoot("lab-repair-explained")

    edit(page, "torch.Tensor.mul", "e = 1 + e")
    expect(widget.locator(".gradviz-repair-head")).to_have_text("Repaired")
    player = widget.locator(".gradviz-repair-player .gradviz-root")
    expect(player.locator(".gradviz-caption")).to_contain_text("ExpBackward0 used saved result")
    # The verdict is what one sees first; the player is below it.
    expect(widget.locator(".gradviz-repair-head")).to_be_in_viewport()
    shoot("lab-repair-solved")
