"""Facts about a cause that the recording lacks: lines of a function, position in a line."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from gradviz.analysis.explain.fault import Finding
from gradviz.model.explanation import Explanation
from gradviz.model.formatting import plural
from gradviz.model.recording import Recording
from gradviz.model.sentence import Sentence, say


def function_name(function: ast.expr | None) -> str | None:
    """A function as ``into=`` takes it; ``None`` for methods and what Python itself has."""
    if not isinstance(function, ast.Name) or hasattr(builtins, function.id):
        return None
    return function.id


def not_followed_words(function: str) -> Sentence:
    """What is not known, and how to find it out."""
    return say("which line inside {0}; gradviz.record(into={0}) shows it", function)


def not_listed_words(recording: Recording) -> Sentence:
    """That steps before it are counted, and how to have all of them."""
    total = len(recording.records) + recording.counted
    enough = 10 ** (len(str(total)) + 1)
    words = (
        "{} and sub-steps before it are counted, not listed; gradviz.record(budget={}) lists more"
    )
    return say(words, plural(recording.counted, "step"), f"{enough:_}")


def place_not_known(found: Finding, explanation: Explanation) -> Iterator[Sentence]:
    """That Python gives no position for the expression that did it, so that there is no fix."""
    at = None if explanation.cause is None else explanation.cause.at
    if found.called and found.site is None and not explanation.fixes and at is not None and at.text:
        line = found.history.line_term(at)
        yield say("which expression of {} did it: Python gives no position for it", line)
