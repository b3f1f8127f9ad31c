"""Questions of the course: their options and sentences are package data, so no cell has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gradviz.model import OptionError

QUESTIONS: Final = Path(__file__).parents[2] / "course" / "questions"
"""One file per lesson, written by ``notebooks/build.py`` from its source."""


@dataclass(frozen=True, slots=True)
class CourseQuestion:
    """What stands in a source of the course as arguments of ``predict``."""

    question: str
    form: str
    """The keyword of its form."""
    given: Any
    """The value of that keyword."""
    wrong: Mapping[str, str] = field(default_factory=dict)
    why: str = ""
    step: int | str | None = None
    picture: int | str | None = None
    hide: Sequence[str] | None = None
    player_hide: Sequence[str] = ()
    test: str = ""
    about: str = ""
    see: str = ""


def course_question(id: str) -> CourseQuestion:  # noqa: A002
    """The question with an id, ``"lesson/question"``.

    Raises:
        OptionError: If there is none.
    """
    lesson, _, name = id.partition("/")
    file = QUESTIONS / f"{lesson}.json"
    if not file.is_file():
        known = ", ".join(sorted(path.stem for path in QUESTIONS.glob("*.json"))) or "none"
        raise OptionError(
            f"the course has no lesson {lesson!r} with questions; it has {known}. A question of "
            'your own has a form: gradviz.predict("What is a.grad?", typed="a.grad")'
        )
    found = json.loads(file.read_text("utf-8"))
    if name not in found:
        raise OptionError(
            f"the lesson {lesson!r} has no question {name!r}; it has {', '.join(sorted(found))}"
        )
    return CourseQuestion(**found[name])
