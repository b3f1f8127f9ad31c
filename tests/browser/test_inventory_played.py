"""The test of the course in JupyterLab: answered, judged at the end, saved, counted."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Locator, Page, expect

from gradviz.course.scores import read, score
from gradviz.model.question import Question
from tests.browser.answers import FILL
from tests.browser.bare import axe_violations
from tests.browser.conftest import Shoot
from tests.browser.lab import Lab, Notebook
from tests.browser.test_lessons_played import Learner, opened, questions_of
from tests.browser.waiting import drawn
from tests.lessons.lesson_files import stored
from tests.teach.wrong_answers import right_answer, wrong_answers

__all__ = ["opened"]
pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.played]
TEST = "inventory"
WRONG = ("step-between", "frozen-step")


def fill(root: Locator, question: Question, right: bool) -> None:
    answer = right_answer(question) if right else wrong_answers(question)[0]
    FILL[question.form.kind](root, question, answer)


@pytest.fixture
def learner(opened: Notebook, page: Page, shoot: Shoot) -> Learner:
    opened.run_all()
    return Learner(page, opened, TEST, shoot)


@pytest.mark.parametrize("opened", [TEST], indirect=True)
def test_a_learner_takes_the_test(
    learner: Learner, page: Page, shoot: Shoot, lab: Lab, tmp_path: Path
) -> None:
    questions = questions_of(TEST)
    page.evaluate("localStorage.clear()")
    for cell, question in questions.items():
        root = learner.output_of(cell).locator(".gradviz-root").first
        fill(root, question, cell not in WRONG)
        said = root.locator(".gradviz-question-status").first
        expect(said).to_contain_text("Your answer is kept.")
        expect(root.get_by_role("button", name="Check")).to_have_count(0)
        learner.fits(root, cell)
        shoot(f"inventory-{cell}")
    root = learner.output_of("score").locator(".gradviz-root").first
    status = root.locator(".gradviz-question-status")
    expect(status).to_have_text("13 of 13 questions are answered.")
    root.get_by_role("button", name="Show the score").click()
    expect(status).to_have_text("11 of 13 right.")
    shoot("inventory-score")
    own = f"[data-windowed-list-index='{learner.places['score']}'] .jp-OutputArea"
    assert axe_violations(page, own) == []
    with page.expect_download() as saving:
        root.get_by_role("button", name="Save my answers (CSV)").click()
    file = tmp_path / saving.value.suggested_filename
    saving.value.save_as(file)
    rows = read(file)
    assert [row.question for row in rows] == [f"{TEST}/{cell}" for cell in questions]
    stored_text = str(stored(TEST))
    assert all(row.digest in stored_text for row in rows)
    wrong = {row.question for row in rows if row.result == "wrong"}
    assert wrong == {f"{TEST}/{cell}" for cell in WRONG}
    assert "11.0" in score([tmp_path])
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    drawn(page)
    shoot("inventory-score-dark")
    page.evaluate("document.body.dataset.jpThemeLight = 'true'")
    root.get_by_role("button", name="Forget my answers and begin again").click()
    expect(status).to_contain_text("0 of 13 questions are answered.")
    last = learner.output_of("calls").locator(".gradviz-root").first
    expect(last.locator(".gradviz-question-status").first).to_be_empty()
