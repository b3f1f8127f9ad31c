"""Each lesson in JupyterLab at 1366×768, played by a learner: wrong answers, hints, right ones."""

from __future__ import annotations

import ast
import inspect
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

import nbformat
from playwright.sync_api import Locator, Page, expect

from gradviz.model.question import Question
from gradviz.teach.repair.exercise import exercise_of_course
from notebooks import build
from notebooks.build import WIDGET_VIEW
from tests.browser.answers import FILL
from tests.browser.bare import axe_violations
from tests.browser.conftest import Shoot
from tests.browser.lab import Lab, Notebook
from tests.lessons.lesson_budget import FIFTEEN_MINUTES
from tests.lessons.lesson_files import NOTEBOOKS, Kernel, code_cells, stored
from tests.teach.wrong_answers import right_answer, sentences_for, wrong_answers

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.played]

MOST_STEPS = 60


def decorated(source: str) -> tuple[str, str, ast.expr | None]:
    """The name of the function that a cell decorates, the decorator and its first argument."""
    text = "\n".join("" if line.startswith("%") else line for line in source.splitlines())
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.FunctionDef) and statement.decorator_list:
            call = statement.decorator_list[0]
            assert isinstance(call, ast.Call)
            given = call.args[0] if call.args else None
            return statement.name, ast.unparse(call.func), given
    return "", "", None


def questions_of(lesson: str) -> dict[str, Question]:
    """The questions of a lesson by the id of their cell, with torch's answers."""
    kernel = Kernel()
    found: dict[str, Question] = {}
    for cell in code_cells(build.read(build.SOURCE / f"{lesson}.py")):
        kernel.run(cell.id, cell.source)
        name, decorator, _ = decorated(cell.source)
        if decorator == "gradviz.predict":
            found[cell.id] = kernel.names[name].question
    return found


def decorated_by_repair(name: str, program: str) -> str:
    """The cell in which a learner has typed a program."""
    lines = textwrap.dedent(program).strip().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("def "))
    return "\n".join([f'@gradviz.repair("{name}")', *lines[start:], ""])


class Learner:
    """Looks at cells of an open lesson, one at a time."""

    def __init__(self, page: Page, opened: Notebook, lesson: str, shoot: Shoot) -> None:
        self.page, self.opened, self.lesson, self.shoot = page, opened, lesson, shoot
        self.cells = stored(lesson).cells
        self.places = {cell.id: place for place, cell in enumerate(self.cells)}

    def output_of(self, cell_id: str) -> Locator:
        """The output of a cell, which may have been scrolled away: JupyterLab then has none."""
        place = self.places[cell_id]
        self.page.evaluate(
            "(place) => window.jupyterapp.shell.currentWidget.content.scrollToItem(place, 'start')",
            place,
        )
        found = self.page.locator(f"[data-windowed-list-index='{place}'] .jp-OutputArea")
        found.locator(".gradviz-root[data-ready=true]").first.wait_for(timeout=60_000)
        return found

    def answer(self, cell_id: str, question: Question) -> None:
        """Wrong twice, and then again from the start: wrong, and right at the second try."""
        root = self.output_of(cell_id).locator(".gradviz-root").first
        fill = FILL[question.form.kind]
        wrong = wrong_answers(question)[:2]
        check = root.get_by_role("button", name="Check", exact=True)
        status = root.locator(".gradviz-question-status").first
        expect(check).to_have_attribute("aria-disabled", "true")
        check.click(force=True)
        expect(status).to_have_text("")
        self.shoot(f"{self.lesson}-{cell_id}")
        fill(root, question, wrong[0])
        self.fits(root, cell_id)
        self.is_uncut(root, cell_id)
        self.tells_nothing(root, question)
        check.click()
        expect(status).to_have_text("Not what torch says. Try once more.")
        self.tells_nothing(root, question)
        self.shoot(f"{self.lesson}-{cell_id}-again")
        if len(wrong) == 2:
            fill(root, question, wrong[1])
            check.click()
            expect(status).to_have_text("✗ Not what torch says.")
            told = root.locator(".gradviz-question-told")
            for sentence in sentences_for(question, wrong):
                expect(told).to_contain_text(sentence.replace("`", ""))
            self.is_seen(told, cell_id)
            self.is_uncut(root, cell_id)
            self.shoot(f"{self.lesson}-{cell_id}-wrong")
            root.get_by_role("button", name="Start again").click()
            self.tells_nothing(root, question)
            fill(root, question, wrong[0])
            check.click()
            expect(status).to_have_text("Not what torch says. Try once more.")
        fill(root, question, right_answer(question))
        check.click()
        expect(status).to_have_text("✓ Right.")
        self.is_seen(root.locator(".gradviz-question-told"), cell_id)
        self.has_player(root)
        self.shoot(f"{self.lesson}-{cell_id}-answered")
        assert (
            axe_violations(self.page, f"[data-windowed-list-index='{self.places[cell_id]}']") == []
        )

    def has_player(self, root: Locator) -> None:
        """The player of the run, which fits the screen as well."""
        player = root.locator(".gradviz-question-result .gradviz-root[data-ready=true]")
        expect(player.get_by_role("button", name="Back", exact=True)).to_be_visible()
        self.fits(player, "player")

    def tells_nothing(self, root: Locator, question: Question) -> None:
        """No key, no sentence and no mark in the picture is in the page before the answer."""
        expect(root.locator(".gradviz-question-result")).to_be_hidden()
        assert root.locator(".gradviz-question-key, [data-verdict]").count() == 0
        html = root.evaluate("(e) => e.textContent + e.outerHTML")
        for sentence in filter(None, (*question.form.sentences.values(), question.why)):
            assert sentence not in html
            assert sentence.replace("`", "") not in html

    def is_seen(self, told: Locator, cell_id: str) -> None:
        """What is shown new is on the screen, without scrolling."""
        box, around = (
            told.bounding_box(),
            self.page.locator(".jp-WindowedPanel-outer").bounding_box(),
        )
        assert box is not None
        assert around is not None
        bottom = around["y"] + around["height"]
        assert around["y"] - 1 <= box["y"], (cell_id, box, around)
        assert box["y"] + box["height"] <= bottom + 1, (cell_id, box, around)

    def is_uncut(self, root: Locator, cell_id: str) -> None:
        """No column of a table and no line of a program has to be scrolled to."""
        cut = root.locator(".gradviz-flags-frame, .gradviz-program").evaluate_all(
            "(all) => all.filter((e) => e.scrollWidth > e.clientWidth + 1"
            " || e.scrollHeight > e.clientHeight + 1).map((e) => e.className)"
        )
        assert cut == [], cell_id

    def fits(self, root: Locator, cell_id: str) -> None:
        """The whole question is on one screen, with its Check."""
        box, around = (
            root.bounding_box(),
            self.page.locator(".jp-WindowedPanel-outer").bounding_box(),
        )
        assert box is not None
        assert around is not None
        assert box["height"] <= around["height"], (cell_id, box["height"])

    def repair(self, cell_id: str, name: str) -> None:
        """A fix that people try, three hints, the explanation, and then a solution."""
        exercise = exercise_of_course(name)
        root = self.output_of(cell_id).locator(".gradviz-root").first
        head = root.locator(".gradviz-repair-head")
        expect(head).to_have_text("Not repaired yet")
        self.shoot(f"{self.lesson}-{cell_id}")
        fix = exercise.wrong[0]
        self.replace(cell_id, decorated_by_repair(name, inspect.getsource(fix.program)))
        root = self.output_of(cell_id).locator(".gradviz-root").first
        known = root.locator(".gradviz-repair-verdict .is-known")
        expect(known).to_have_text(fix.sentence.replace("`", ""))
        expect(root.locator(".gradviz-repair-head")).to_have_text("Not repaired yet")
        self.shoot(f"{self.lesson}-{cell_id}-wrong")
        for number in (1, 2, 3):
            expect(root.locator(".gradviz-repair-player")).to_be_empty()
            expect(root.locator(".gradviz-repair-solution")).to_be_empty()
            expect(root.locator(".gradviz-numbered li")).to_have_count(number - 1)
            root.get_by_role("button", name=f"Hint {number} of 3").click()
            expect(root.locator(".gradviz-numbered li").last).to_have_text(
                exercise.hints[number - 1].replace("`", "")
            )
            button = root.get_by_role("button", name="Explanation" if number == 3 else "Hint")
            expect(button).to_be_enabled()
            self.is_seen(button, cell_id)
        self.shoot(f"{self.lesson}-{cell_id}-hints")
        root.get_by_role("button", name="Explanation").click()
        solution = root.locator(".gradviz-repair-solution pre")
        # The player is made first: of a training loop it takes seconds.
        expect(solution).to_be_visible(timeout=60_000)
        self.is_seen(solution, cell_id)
        self.shoot(f"{self.lesson}-{cell_id}-explained")
        self.replace(cell_id, decorated_by_repair(name, solution.inner_text()))
        root = self.output_of(cell_id).locator(".gradviz-root").first
        expect(root.locator(".gradviz-repair-head")).to_have_text("Repaired")
        self.shoot(f"{self.lesson}-{cell_id}-solved")

    def replace(self, cell_id: str, source: str) -> None:
        """Edit a cell as a learner does, and run it."""
        place = self.places[cell_id]
        editor = self.page.locator(f"[data-windowed-list-index='{place}'] .cm-content")
        editor.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(source)
        self.page.keyboard.press("Control+Enter")

    def step_through(self, cell_id: str) -> None:
        """A player, from its first step to its last and back, with the arrow keys."""
        player = self.output_of(cell_id).locator(".gradviz-root[data-ready=true]").first
        where = player.locator(".gradviz-where")
        player.get_by_role("slider").first.focus()
        self.page.keyboard.press("Home")
        there = self.walk(where, "ArrowRight")
        assert len(set(there)) == len(there) > 3
        assert self.walk(where, "ArrowLeft") == there[::-1]
        self.shoot(f"{self.lesson}-{cell_id}")

    def saved(self, folder: Path) -> Any:
        """The notebook as JupyterLab saves it, but for cells that were edited, and widgets."""
        self.page.evaluate(
            "() => window.jupyterapp.commands.execute('docmanager:save').then(() => 0)"
        )
        notebook = nbformat.read(folder / f"{self.lesson}.ipynb", as_version=4)
        sources = {cell.id: cell.source for cell in self.cells}
        notebook.cells = [cell for cell in notebook.cells if cell.source == sources[cell.id]]
        for cell in code_cells(notebook):
            for output in cell.outputs:
                output.get("data", {}).pop(WIDGET_VIEW, None)
        return notebook

    def walk(self, where: Locator, key: str) -> list[str]:
        seen = [where.inner_text()]
        for _ in range(MOST_STEPS):
            self.page.keyboard.press(key)
            if (now := where.inner_text()) == seen[-1]:
                return seen
            seen.append(now)
        raise AssertionError(f"{key} finds no end: {seen[-3:]}")


@pytest.fixture
def opened(lab: Lab, page: Page, request: pytest.FixtureRequest) -> Iterator[Notebook]:
    shutil.copy(NOTEBOOKS / f"{request.param}.ipynb", lab.folder)
    page.set_viewport_size({"width": 1366, "height": 768})
    opened = Notebook(page, lab, f"{request.param}.ipynb")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("opened", "lesson"),
    [pytest.param(one, one, id=one) for one in FIFTEEN_MINUTES],
    indirect=["opened"],
)
def test_a_learner_plays_the_lesson(
    opened: Notebook, lesson: str, page: Page, shoot: Shoot, lab: Lab
) -> None:
    questions = questions_of(lesson)
    learner = Learner(page, opened, lesson, shoot)
    ran = sum(bool(cell.source.strip()) for cell in code_cells(stored(lesson)))
    opened.run_all()
    opened.wait_for("get_ipython().execution_count", str(ran + 1))
    played = set()
    for cell in code_cells(stored(lesson)):
        _, decorator, given = decorated(cell.source)
        if decorator == "gradviz.predict":
            learner.answer(cell.id, questions[cell.id])
        elif decorator == "gradviz.repair":
            exercise = str(ast.literal_eval(given)) if given else ""
            assert exercise_of_course(exercise).solutions
            learner.repair(cell.id, exercise)
        elif cell.source.startswith("%%gradviz"):
            learner.step_through(cell.id)
        played.add(decorator)
    assert {"gradviz.predict", "gradviz.repair"} <= played
    # What JupyterLab saves now tells neither an answer nor that one was given.
    kept = learner.saved(lab.folder)
    assert "widgets" not in kept.metadata
    before = {cell.id: cell.outputs for cell in code_cells(stored(lesson))}
    asked = [cell for cell in kept.cells if cell.id in questions]
    assert [[o.data for o in c.outputs] for c in asked] == [
        [o.data for o in before[c.id]] for c in asked
    ]
    assert len(asked) == len(questions)
