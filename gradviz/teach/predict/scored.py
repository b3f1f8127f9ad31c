"""Which questions of a test have run in this session: the score of the test needs their keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from gradviz.model import OptionError, Recording
from gradviz.model.question import Question

_tests: Final[dict[str, dict[str, Question]]] = {}
"""The questions of each test by their id, or by their text, in the order in which they ran."""


def keep(question: Question) -> None:
    """Keep a question if it belongs to a test, without its recording; a later run replaces it."""
    if question.test:
        kept = replace(question, recording=Recording.empty(), step=None, printed="")
        _tests.setdefault(question.test, {})[question.id or question.text] = kept


def questions_of(test: str) -> list[Question]:
    """The questions of a test.

    Raises:
        OptionError: If none has run.
    """
    if test not in _tests:
        known = ", ".join(map(repr, _tests)) or "none"
        raise OptionError(
            f"no question of a test {test!r} has run in this session; tests with questions: "
            f"{known}. Run the cells with its questions first: @gradviz.predict(…, test={test!r})"
        )
    return list(_tests[test].values())
