"""Wrong gradients for which torch raised no error, found in a recording."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gradviz.analysis.explain.fault import Fault, Finding
from gradviz.analysis.explain.fault_table import SILENT
from gradviz.analysis.explain.not_followed import (
    function_name,
    not_followed_words,
    place_not_known,
)
from gradviz.model.explanation import Explanation
from gradviz.model.recording import Recording
from gradviz.model.sentence import say


def silent_in(recording: Recording) -> Iterator[Explanation]:
    """One explanation per fault, in the order of the steps at which the gradient became wrong.

    A fault in a loop is explained once, at its first step.
    """
    history = recording.history
    found = _merged([_explained(fault, one) for fault in SILENT for one in fault.find(history)])
    told = set()
    for one in sorted(found, key=lambda e: (e.step is None, e.step or 0)):
        culprit, noticed = one.cause.at if one.cause else None, one.noticed
        key = (
            one.kind,
            one.variables,
            culprit and (culprit.code, culprit.line),
            noticed and (noticed.code, noticed.line),
        )
        if key not in told:
            told.add(key)
            yield one


def _explained(fault: Fault[Any], found: Finding) -> Explanation:
    """The explanation; it says so if all happened inside a function that was not recorded."""
    one = fault.explain(found)
    one = replace(one, unknown=(*one.unknown, *place_not_known(found, one)))
    culprit, noticed = one.cause.at if one.cause else None, one.noticed
    if culprit is None or noticed is None or any(fix.how != "elsewhere" for fix in one.fixes):
        return one
    if (culprit.code, culprit.line) != (noticed.code, noticed.line):
        return one
    site, history = found.site, found.history
    if site is None:
        return one
    function = function_name(site.function_around(found.by), site.statement.code, history)
    if function is None:
        return one
    words = not_followed_words([function], history.recording)
    return replace(one, fixes=(), unknown=(*one.unknown, words))


def _merged(found: list[Explanation]) -> list[Explanation]:
    """Explanations, merged so that there is one per write."""
    hidden = {_write(one): one for one in reversed(found) if one.kind == "hidden write"}
    kept = []
    for one in found:
        if one.kind != "write without a node" or _write(one) not in hidden:
            kept.append(one)
    for other in reversed(found):
        first = hidden.get(_write(other))
        if other.kind == "write without a node" and first is not None:
            kept[kept.index(first)] = hidden[_write(first)] = replace(
                first,
                why=say("{}. Also, {}", first.why, other.why),
                fixes=other.fixes,  # the fixes of the first would leave this part of the fault
                marks=tuple({mark.id: mark for mark in (*other.marks, *first.marks)}.values()),
            )
    return kept


def _write(one: Explanation) -> tuple[object, ...]:
    """The line that wrote, and what."""
    line = one.cause.at if one.cause is not None else None
    return (one.variables, line and (line.code, line.line, line.step))
