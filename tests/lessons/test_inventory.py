"""The concept inventory: thirteen questions that no lesson asks, and no key for learners."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import pytest

import gradviz
from gradviz.teach.predict.course import QUESTIONS
from gradviz.view.documents.question import unsealed
from gradviz.view.widgets.question import QuestionWidget
from tests.lessons.leaks import leaks
from tests.lessons.lesson_files import NOTEBOOKS, Kernel, check_strictly, code_cells, stored

TEST = "inventory"


@pytest.fixture(scope="module")
def asked() -> dict[str, QuestionWidget]:
    """The questions, run once, by the id of their cell."""
    kernel: Kernel = Kernel()
    found: dict[str, QuestionWidget] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in code_cells(stored(TEST)):
            before = set(kernel.names)
            kernel.run(cell.id, cell.source)
            for name in set(kernel.names) - before:
                if isinstance(kernel.names[name], QuestionWidget):
                    found[cell.id] = kernel.names[name]
    return found


def data(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((QUESTIONS / f"{name}.json").read_text("utf-8"))
    return found


def test_it_has_thirteen_questions_of_varied_forms() -> None:
    questions = data(TEST)
    assert len(questions) == 13
    assert len({one["form"] for one in questions.values()}) >= 6
    assert {one["test"] for one in questions.values()} == {TEST}
    assert all(one["about"].endswith((".", "?")) for one in questions.values())


def test_no_question_is_one_of_a_lesson() -> None:
    mine = {json.dumps(one["given"]) + one["question"] for one in data(TEST).values()}
    lessons = [data(path.stem) for path in QUESTIONS.glob("[0-9]*.json")]
    assert len(lessons) == 12
    others = {json.dumps(q["given"]) + q["question"] for one in lessons for q in one.values()}
    assert not mine & others
    assert not {q["question"] for q in data(TEST).values()} & {
        q["question"] for one in lessons for q in one.values()
    }


def test_nothing_that_learners_get_has_a_key(asked: dict[str, QuestionWidget]) -> None:
    questions = {cell: widget.question for cell, widget in asked.items()}
    assert len(questions) == 13
    assert leaks(stored(TEST), questions) == []
    for widget in asked.values():
        assert widget.wire["sealed"] == ""
        told = json.dumps(widget.wire, ensure_ascii=False)
        assert not [one for one in widget.question.form.sentences.values() if one and one in told]
    answers = stored(f"answers/{TEST}")
    assert {leak.question for leak in leaks(answers, questions)} == set(questions)


def test_the_score_has_the_keys_sealed_and_in_order(asked: dict[str, QuestionWidget]) -> None:
    wire = gradviz.predict.score(TEST).wire
    items = unsealed(wire["sealed"])["items"]
    assert [one["id"] for one in wire["items"]] == [f"{TEST}/{cell}" for cell in asked]
    assert [one["key"] for one in items] == [widget.question.key for widget in asked.values()]
    for widget, about in zip(asked.values(), (one["about"] for one in items), strict=True):
        shown = " ".join(widget.question.form.key_lines(widget.question.key))
        assert shown not in about
    assert "about" not in json.dumps({**wire, "sealed": ""})


@pytest.mark.exhaustive
@pytest.mark.parametrize("edition", [TEST, f"answers/{TEST}"])
def test_its_outputs_are_compared_strictly(edition: str) -> None:
    done = check_strictly(NOTEBOOKS / f"{edition}.ipynb")
    assert done.status == 0, done
