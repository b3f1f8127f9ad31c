"""Errors that torch raised, explained from a recording."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from gradviz.analysis.code.statements import expression_of, is_expression
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fault import Fault, Finding
from gradviz.analysis.explain.fault_table import faults_of
from gradviz.analysis.explain.fixes.inplace_modules import is_activation
from gradviz.analysis.explain.not_followed import (
    function_name,
    not_followed_words,
    not_listed_words,
    place_not_known,
)
from gradviz.model.events import Raised
from gradviz.model.explanation import Cause, Explanation
from gradviz.model.recording import Recording
from gradviz.model.sentence import Sentence, say

_ELSEWHERE: Final = re.compile(r"Caught \w+ in (?P<where>[^\n]+?)\.\nOriginal Traceback")
"""How torch begins the message of an error that it raises again for a process or thread."""


def errors_in(recording: Recording) -> Iterator[Explanation]:
    """One explanation per error that a line raised, caught or not: where it arose, for the step at
    which it was raised last."""
    history = recording.history
    alike: dict[object, list[tuple[int, Raised]]] = {}
    for step, event in history.events(Raised, len(recording.records)):
        if history.span(step) is None:  # else what led to it is not recorded
            key = ("", step) if event.number is None else event.number
            alike.setdefault(key, []).append((step, event))
    for (first, event), *again in alike.values():
        found = explain(ErrorContext(history, first, event))
        yield replace(found, step=again[-1][0]) if again else found


def explain(context: ErrorContext) -> Explanation:
    """The explanation of one error."""
    fault, found = _first(context)
    explanation = fault.explain(found)
    elsewhere = _ELSEWHERE.match(context.raised.message)
    is_another = elsewhere is not None or context.raised.is_from_elsewhere
    if is_another and fault.kind != "other":
        return _of_another(explanation, elsewhere, context)
    return replace(
        explanation,
        raised=context.raised.type,
        noticed=context.noticed,
        already=context.already,
        causes=tuple(_causes(fault, explanation)),
        unknown=tuple(_unknown(fault, found, explanation, context)),
    )


def _of_another(
    explanation: Explanation, worker: re.Match[str] | None, context: ErrorContext
) -> Explanation:
    """What is known of an error of a worker or thread: nothing of it is in the line that got it."""
    where = "code that is not recorded" if worker is None else worker["where"]
    here = "; DataLoader(num_workers=0) runs it in this process" if "DataLoader" in where else ""
    line = say("which line raised it, but for the traceback in the message{}", here)
    return Explanation(
        kind=explanation.kind,
        raised=context.raised.type,
        what=say("{} raised it, so its tensors are not seen here", where),
        why=explanation.why,
        noticed=context.noticed,
        unknown=() if worker is None else (line,),
        step=explanation.step,
        recording=explanation.recording,
    )


def _first(context: ErrorContext) -> tuple[Fault[Any], Finding]:
    raised = context.raised
    return next(
        (fault, found)
        for fault in faults_of(raised.type, raised.message)
        for found in fault.find(context)
    )


def _causes(fault: Fault[Any], found: Explanation) -> Iterator[Cause]:
    """The causes; the first is the culprit, which may not be known."""
    if found.causes and found.causes[0].kind == "save":
        yield Cause(fault.culprit or "other", Sentence())
    yield from found.causes


def _unknown(
    fault: Fault[Any], found: Finding, explanation: Explanation, context: ErrorContext
) -> Iterator[Sentence]:
    """What is not known, and how to find it out."""
    yield from explanation.unknown
    if explanation.unknown and any(first < context.step for first, _ in context.history.counted):
        yield not_listed_words(context.recording)
    if not context.is_recorded and explanation.line is None and not explanation.unknown:
        yield say("which line caused it{}", context.how_to_know)
    if context.is_recorded:
        yield from place_not_known(found, explanation)
    function = _not_followed(fault, found, explanation, context)
    if function is not None:
        yield not_followed_words([function], context.recording)


def _not_followed(
    fault: Fault[Any], found: Finding, explanation: Explanation, context: ErrorContext
) -> str | None:
    """A function or module in which all of it happened, if its lines were not recorded."""
    refused = "" if context.refused is None else context.refused.name
    site, by = (context.site, refused) if found.site is None else (found.site, found.by)
    around = None if site is None else site.function_around(by)
    if found.inside is not None:
        path = expression_of(found.inside)
        is_it = around is not None and ast.unparse(around) == path and is_expression(path)
        # The lines of torch's own activations do not help.
        return path if is_it and not explanation.fixes and not is_activation(by) else None
    at = None if explanation.cause is None else explanation.cause.at
    statement = context.statement if found.site is None else found.site.statement
    if fault.culprit is None or at is None or statement is None or not context.is_recorded:
        return None
    if (at.line, at.code) != (statement.line, statement.code.name):
        return None
    return function_name(around, statement.code, context.history)
