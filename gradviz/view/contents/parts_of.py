"""The parts of any thing that is shown besides pictures of graphs, and the same as HTML."""

from __future__ import annotations

from functools import singledispatch
from typing import Final

from gradviz.model.explanation import Explanation
from gradviz.model.explanations import Explanations
from gradviz.model.question import Question
from gradviz.model.report import Report
from gradviz.model.verdict import Attempt
from gradviz.view.contents.explanation import explanation_parts, explanations_parts
from gradviz.view.contents.question import question_parts
from gradviz.view.contents.repair import repair_parts
from gradviz.view.contents.report import report_parts
from gradviz.view.parts.html import as_html
from gradviz.view.parts.part import Parts

THINGS: Final = (Explanation, Explanations, Question, Attempt, Report)
"""What has parts."""


@singledispatch
def parts_of(thing: object) -> Parts:
    """What a thing consists of.

    Raises:
        TypeError: If it is none of :data:`THINGS`.
    """
    if not isinstance(thing, Report):
        raise TypeError(f"{type(thing).__name__} is none of what has parts: {THINGS}")
    return report_parts(thing)


def html_of(thing: object) -> str:
    """A thing as HTML without script and style sheet; the same bytes for the same thing.

    Examples:
        >>> found = html_of(Explanation("not a scalar", "RuntimeError", "loss is <2>"))
        >>> "loss is &lt;2&gt;" in found
        True
    """
    return as_html(parts_of(thing))


parts_of.register(Explanation, explanation_parts)
parts_of.register(Explanations, explanations_parts)
parts_of.register(Question, question_parts)
parts_of.register(Attempt, repair_parts)
