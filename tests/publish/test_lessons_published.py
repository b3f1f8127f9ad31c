"""The lessons as pages: nothing of what is said after an answer is in plain text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from gradviz.publish.documents import page_html, slides_html
from gradviz.publish.source import notebook_of
from gradviz.teach.predict.course import QUESTIONS
from tests.lessons.lesson_files import NOTEBOOKS

WITH_QUESTIONS = sorted(path.stem for path in QUESTIONS.glob("*.json"))


def sentences(question: dict[str, Any]) -> Iterator[str]:
    """What is said after an answer only."""
    given = question["given"] if isinstance(question["given"], dict) else {}
    for one in (*given.values(), *question.get("wrong", {}).values(), question.get("why", "")):
        if isinstance(one, str) and one:
            yield one


@pytest.mark.exhaustive
@pytest.mark.parametrize("lesson", WITH_QUESTIONS)
def test_the_students_edition_of_a_lesson_gives_no_answer_away(lesson: str) -> None:
    questions = json.loads((QUESTIONS / f"{lesson}.json").read_text("utf-8"))
    said = [one for question in questions.values() for one in sentences(question)]
    assert said
    source = NOTEBOOKS / f"{lesson}.ipynb"
    for write in (page_html, slides_html):
        html = write(*notebook_of(source), lesson)
        assert [one for one in said if one in html] == []
