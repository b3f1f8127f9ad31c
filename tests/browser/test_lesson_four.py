"""Lesson 4 in JupyterLab, by somebody who has a keyboard and no mouse."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Locator, Page, expect

from tests.browser.bare import axe_violations
from tests.browser.conftest import Shoot
from tests.browser.lab import Lab, Notebook
from tests.browser.machine import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LESSON = "04-twice-through-the-same-graph.ipynb"
PLAYERS = {"twice-show": True, "retain-show": False, "half-way-show": True, "repair-broken": True}
"""Recorded cells, and whether they end in an error."""
TASKS = {
    "repair-try": ("first, second = False, True", "first, second = True, False", "repaired: "),
    "exercise-try": (
        'product="? ? ?", sum="? ? ?"',
        'product="yes 4 8", sum="no 4 4"',
        "sum: 3 of 3 right",
    ),
    "construct-try": ("(x * 3).exp().sum()", "(x + 1 + 1 + 1).sum()", "done"),
}
"""Cells that the learner changes: what is there, what comes there, and what is then printed."""
MOST_STEPS = 60
MOST_STOPS = 60
MOST_CELLS = 80
_FOCUSED = "() => document.activeElement.outerHTML.slice(0, 100)"
_CELL = "window.jupyterapp.shell.currentWidget.content.activeCell"


class Learner:
    """Presses keys, and looks at what is there."""

    def __init__(self, page: Page, opened: Notebook) -> None:
        self.page = page
        self.opened = opened
        self.press = page.keyboard.press
        self.ran = 0

    @property
    def active(self) -> str:
        """Id of the cell that JupyterLab has selected."""
        return str(self.page.evaluate(f"() => {_CELL}.model.id"))

    @property
    def cell(self) -> Locator:
        return self.page.locator(".jp-Notebook .jp-Cell.jp-mod-active")

    @property
    def is_on_cell(self) -> bool:
        return bool(self.page.evaluate(f"() => document.activeElement === {_CELL}.node"))

    @property
    def focused(self) -> Locator:
        return self.page.locator(":focus")

    def run(self, is_code: bool) -> None:
        """Run the cell and go to the next one."""
        self.press("Shift+Enter")
        if is_code:
            self.ran += 1
            self.opened.wait_for("get_ipython().execution_count", str(self.ran + 1))

    def see(self, cell: Any, place: int) -> None:
        """Look at what a cell shows, before going there: what appears moves the stops of Tab."""
        shown = (
            ".gradviz-root[data-ready=true]" if cell.id in PLAYERS else ":is(button, input):visible"
        )
        output = self.page.locator(f"[data-windowed-list-index='{place}'] .jp-OutputArea")
        output.locator(shown).first.wait_for()

    def do(self, cell: Any) -> None:
        """Solve a task: write what is missing, run the cell and read what is printed."""
        was, becomes, printed = TASKS[cell.id]
        assert was in cell.source
        here = self.cell.element_handle()
        self.press("Enter")
        self.press("Control+A")
        self.page.keyboard.insert_text(cell.source.replace(was, becomes))
        self.run(is_code=True)
        self.page.wait_for_function(
            "([cell, text]) => cell.querySelector('.jp-OutputArea')?.textContent.includes(text)",
            arg=[here, printed],
        )

    def go_to(self, name: str, stop: Locator, key: str = "Tab") -> None:
        """Tab until the focus is there or inside."""
        for _ in range(MOST_STOPS):
            self.press(key)
            if stop.evaluate("e => e.contains(document.activeElement)"):
                return
        raise AssertionError(f"{key} does not lead to {name}")

    def go_up_to(self, cell_id: str) -> None:
        """To a cell above whose input is not folded."""
        for _ in range(MOST_CELLS):
            if self.active == cell_id:
                return
            self.press("ArrowUp")
        raise AssertionError(f"ArrowUp does not lead to {cell_id}")

    def go_back_to(self, cell_id: str) -> None:
        """To a cell above, through all that can be focused in between.

        JupyterLab's own arrows pass over a cell whose input is folded.
        """
        trail = []
        for _ in range(MOST_STOPS):
            if self.active == cell_id and self.is_on_cell:
                return
            trail.append((self.active, self.page.evaluate(_FOCUSED)))
            self.press("Shift+Tab")
        raise AssertionError(f"Shift+Tab does not lead to {cell_id}: {trail}")


def answer(learner: Learner) -> None:
    """Try one option after the other, until one is right."""
    options = learner.cell.locator(".jp-OutputArea button")
    for number in range(options.count()):
        learner.press("Tab")
        expect(options.nth(number)).to_be_focused()
        learner.press("Space")
        options.nth(number).locator(".fa-check, .fa-times").wait_for()
        if "✓" in learner.cell.get_by_role("status").inner_text():
            return
    raise AssertionError("no option is right")


def answer_several(learner: Learner) -> None:
    """Tick nothing, and then what the explanations say is missing."""
    boxes = learner.cell.locator(".jp-OutputArea input[type=checkbox]")
    boxes.first.wait_for()
    learner.go_to("Check", learner.cell.get_by_role("button", name="Check"))
    learner.press("Space")
    told = learner.cell.get_by_role("status")
    expect(told).to_contain_text("✗")
    missing = told.inner_text().splitlines()[1:]
    for number in reversed(range(boxes.count())):
        learner.press("Shift+Tab")
        expect(boxes.nth(number)).to_be_focused()
        option = learner.cell.locator(".widget-checkbox").nth(number).inner_text().strip()
        if any(line.startswith(f"{option}: ") for line in missing):
            learner.press("Space")
    learner.go_to("Check", learner.cell.get_by_role("button", name="Check"))
    learner.press("Space")
    expect(told).to_contain_text("✓")


def walk(learner: Learner, player: Locator, key: str) -> list[str]:
    """Step until nothing moves any more; what each step says."""
    where, told = player.locator(".gradviz-where"), player.locator(".gradviz-caption")
    seen = [f"{where.inner_text()}: {told.inner_text()}"]
    for _ in range(MOST_STEPS):
        learner.press(key)
        now = f"{where.inner_text()}: {told.inner_text()}"
        if now == seen[-1]:
            return seen
        seen.append(now)
    raise AssertionError(f"{key} finds no end: {seen[-3:]}")


def step_through(learner: Learner, ends_in_error: bool) -> None:
    """From the first step to the last and back, and to the error if there is one."""
    player = learner.cell.locator(".gradviz-root[data-ready=true]")
    player.wait_for()
    current = player.locator("[aria-current=step]")
    learner.go_to("the player", player)
    if ends_in_error:
        expect(current).to_contain_text("raised")
    learner.press("Home")
    there = walk(learner, player, "ArrowRight")
    assert len(set(there)) == len(there) > 5
    assert walk(learner, player, "ArrowLeft") == there[::-1]
    if ends_in_error:
        expect(current).to_have_count(0)
        learner.go_to("Jump to error", player.get_by_role("button", name="Jump to error"))
        learner.press("Enter")
        expect(current).to_contain_text("raised")


def ask_what_if(learner: Learner) -> None:
    """Take the switch off: the second backward raises, and that is told."""
    switch = learner.cell.get_by_role("checkbox", name=re.compile("retain_graph"))
    learner.go_to("retain_graph", switch)
    expect(switch).to_be_checked()
    learner.press("Space")
    expect(learner.cell).to_contain_text("backward through the graph a second time")


def is_used(cell: Any) -> bool:
    is_question = cell.source.startswith("# question")
    return is_question or cell.id in PLAYERS or cell.id == "what-if-explore"


def use(learner: Learner, cell: Any) -> None:
    """Do what there is to do in the output of a cell."""
    if cell.id in PLAYERS:
        step_through(learner, PLAYERS[cell.id])
    elif cell.id == "what-if-explore":
        ask_what_if(learner)
    elif "\ntick(" in cell.source:
        answer_several(learner)
    else:
        answer(learner)


@pytest.fixture
def lesson(lab: Lab, page: Page) -> Iterator[Notebook]:
    for name in (LESSON, "lesson_tools.py"):
        shutil.copy(ROOT / "notebooks" / name, lab.folder)
    page.set_viewport_size({"width": 1250, "height": 900})
    opened = Notebook(page, lab, LESSON)
    yield opened
    opened.close()


def test_the_lesson_is_completed_with_the_keyboard_alone(
    lesson: Notebook, page: Page, shoot: Shoot
) -> None:
    learner = Learner(page, lesson)
    cells = nbformat.read(ROOT / "notebooks" / LESSON, as_version=4).cells
    waiting = []
    for cell, following in zip(cells, [*cells[1:], None]):
        assert learner.active == cell.id
        if cell.id in TASKS:
            learner.do(cell)
        else:
            learner.run(cell.cell_type == "code")
        if is_used(cell):
            waiting.append(cell)
        if following is None or "hide-input" in following.metadata.get("tags", ()):
            continue
        for above in reversed(waiting):
            learner.see(above, cells.index(above))
            learner.go_back_to(above.id)
            use(learner, above)
            shoot(f"lesson-four-{above.id}")
            learner.go_back_to(above.id)
        if waiting:
            learner.press("ArrowDown")
            waiting.clear()
    assert learner.ran == sum(cell.cell_type == "code" for cell in cells)


@pytest.mark.exhaustive
def test_its_players_are_accessible_in_both_themes_and_step_without_a_kernel(
    lesson: Notebook, page: Page, shoot: Shoot
) -> None:
    cells = nbformat.read(ROOT / "notebooks" / LESSON, as_version=4).cells
    lesson.run_all()
    ran = sum(cell.cell_type == "code" for cell in cells)
    lesson.wait_for("get_ipython().execution_count", str(ran + 1))
    places = {c.id: f"[data-windowed-list-index='{i}']" for i, c in enumerate(cells)}
    wrong = []
    for theme in ("Light", "Dark"):
        lesson.command("apputils:change-theme", {"theme": f"JupyterLab {theme}"})
        for cell_id in PLAYERS:
            player = page.locator(f"{places[cell_id]} .gradviz-root[data-ready=true]")
            player.scroll_into_view_if_needed()
            expect(player).to_have_attribute("data-theme", theme.lower())
            shoot(f"lesson-four-{cell_id}-{theme.lower()}")
            found = axe_violations(page, f"{places[cell_id]} .gradviz-root")
            wrong += [f"{theme}: {cell_id}: {problem}" for problem in found]
    lesson.command("apputils:change-theme", {"theme": "JupyterLab Light"})
    assert wrong == []

    lesson.close()
    learner = Learner(page, lesson)
    for cell_id, ends_in_error in reversed(PLAYERS.items()):
        learner.go_up_to(cell_id)
        step_through(learner, ends_in_error)
        learner.go_back_to(cell_id)
