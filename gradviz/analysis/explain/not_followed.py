"""What the recording does not tell of a culprit: lines of a function, the place in a line."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from gradviz.analysis.explain.fault import Finding
from gradviz.model.explanation import Explanation
from gradviz.model.sentence import Sentence, say


def function_name(function: ast.expr | None) -> str | None:
    """A function as ``into=`` takes it; ``None`` for methods and what Python itself has."""
    if not isinstance(function, ast.Name) or hasattr(builtins, function.id):
        return None
    return function.id


def not_followed_words(function: str) -> Sentence:
    """What is not known, and what would tell it."""
    return say("which line inside {0}; gradviz.record(into={0}) would tell", function)


def place_not_known(found: Finding, explanation: Explanation) -> Iterator[Sentence]:
    """That the interpreter does not tell which expression of a line did it, so that no fix of it
    can be given."""
    at = None if explanation.cause is None else explanation.cause.at
    if found.called and found.site is None and not explanation.fixes and at is not None and at.text:
        line = found.history.line_term(at)
        yield say("which expression of {} did it: Python tells no position for it", line)
