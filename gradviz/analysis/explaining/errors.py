"""Errors that torch raised, explained from what the recording saw."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, Literal

from gradviz.analysis.explaining import (
    calls_refused,
    freed,
    functions,
    no_graph,
    writes_refused,
    written,
)
from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.in_place_modules import ACTIVATIONS
from gradviz.analysis.explaining.kinds import kind_of
from gradviz.analysis.explaining.statements import expression_of, is_expression
from gradviz.model.events import BackwardEnded, Raised, Refused
from gradviz.model.explanation import Cause, ErrorKind, Explanation
from gradviz.model.recording import Recording

_FAMILIES: Final[Mapping[ErrorKind, Callable[[Evidence], Explanation]]] = {
    "saved tensor written": written.explain,
    "graph freed": freed.explain,
    "no graph": no_graph.explain,
    "leaf written": writes_refused.leaf,
    "view of a leaf written": writes_refused.leaf,
    "one of several views written": writes_refused.several_views,
    "output of a backward hook written": writes_refused.behind_hook,
    "inference tensor saved": writes_refused.inference,
    "not a scalar": calls_refused.not_a_scalar,
    "dtype cannot require grad": calls_refused.no_derivative,
    "flag of a non-leaf": calls_refused.non_leaf_flag,
    "numpy of a tensor that requires grad": calls_refused.numpy,
    "deepcopy of a non-leaf": calls_refused.deepcopy,
    "gradient of another shape": calls_refused.other_shape,
    "unused input": calls_refused.unused,
    "wrong number of gradients": functions.wrong_number,
}

_DEEP: Final = frozenset({"saved tensor written", "graph freed", "no graph"})
"""Kinds whose culprit is another line than the one that raises."""


_CULPRITS: Final[Mapping[ErrorKind, Literal["write", "backward"]]] = {
    "saved tensor written": "write",
    "graph freed": "backward",
}
"""Of which kind the culprit is that is not known."""
_IN_MODULE: Final = re.compile(r"(?P<by>\w+) in (?P<module>\S+) wrote ")
"""How a write inside of a module is told."""


def errors_in(recording: Recording) -> Iterator[Explanation]:
    """One explanation per error that a line raised, caught or not."""
    raised = [
        (index, event)
        for index, step in enumerate(recording.facts)
        for event in step.events
        if isinstance(event, Raised)
    ]
    if not raised:
        return
    history = recording.history
    for place, (step, event) in enumerate(raised):
        later = raised[place + 1] if place + 1 < len(raised) else None
        if later is not None and _is_same(event, *later, recording):
            continue  # it is told where it left the code
        earlier = raised[place - 1] if place else None
        if earlier is not None and _is_same(earlier[1], step, event, recording):
            yield replace(explain(Evidence(history, *earlier)), step=step)
        else:
            yield explain(Evidence(history, step, event))


def _is_same(earlier: Raised, step: int, event: Raised, recording: Recording) -> bool:
    """Whether an error is one that a line has raised before, on its way out of the code."""
    facts = recording.facts[step]
    is_new = any(isinstance(e, (Refused, BackwardEnded)) for e in facts.events)
    same = (earlier.type, earlier.message) == (event.type, event.message)
    return facts.kind == "error" and same and not is_new


def explain(evidence: Evidence) -> Explanation:
    """The explanation of one error."""
    raised = evidence.raised
    kind = kind_of(raised.type, raised.message)
    found = _FAMILIES.get(kind, _other)(evidence)
    found = replace(found, kind=found.kind or kind)
    return replace(
        found,
        raised=raised.type,
        noticed=evidence.noticed,
        already=evidence.already,
        causes=tuple(_causes(found)),
        cures=tuple(dict.fromkeys(found.cures)),
        unknown=tuple(_unknown(found, evidence)),
        step=evidence.step,
        recording=evidence.recording,
    )


def _causes(found: Explanation) -> Iterator[Cause]:
    """The culprit comes first, though it may not be known."""
    if found.causes and found.causes[0].kind == "save":
        yield Cause(_CULPRITS.get(found.kind, "other"), "")
    yield from found.causes


def _unknown(found: Explanation, evidence: Evidence) -> Iterator[str]:
    """What is not known, and what would tell it."""
    yield from found.unknown
    if not evidence.is_recorded and found.line is None and not found.unknown:
        yield "which line led there; gradviz.record() around the code would tell"
    function = _module_not_followed(found, evidence) or _not_followed(found, evidence)
    if function is not None:
        yield f"which line inside {function}; gradviz.record(into={function}) would tell"


def _module_not_followed(found: Explanation, evidence: Evidence) -> str | None:
    """A module of the user's that wrote in a line which only calls it."""
    cause = found.cause
    told = None if cause is None or found.cures else _IN_MODULE.match(cause.what)
    called = None if cause is None else evidence.statement_at(cause.at)
    if told is None or called is None or told["by"].rstrip("_") + "_" in ACTIVATIONS:
        return None
    path = expression_of(told["module"])
    is_called = any(isinstance(p, ast.Call) and ast.unparse(p.func) == path for p in called.parts)
    return path if is_called and is_expression(path) else None


def _not_followed(found: Explanation, evidence: Evidence) -> str | None:
    """A function in which all of it happened, if its lines were not recorded."""
    at, statement = None if found.cause is None else found.cause.at, evidence.statement
    if found.kind not in _DEEP or at is None or statement is None or not evidence.is_recorded:
        return None
    if at.line != statement.line or at.code != statement.code.name:
        return None
    functions = [
        part.func.id
        for part in statement.parts
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
    ]
    if found.cause is not None and _IN_MODULE.match(found.cause.what):
        return None
    functions = [name for name in functions if not hasattr(builtins, name)]
    return functions[0] if len(functions) == 1 else None


def _other(evidence: Evidence) -> Explanation:
    """An error that is not autograd's, or not known."""
    call = "" if evidence.refused is None else f" by {evidence.refused.name}"
    return Explanation(
        kind="other",
        what=f"{evidence.raised.type} was raised{call}",
        unknown=("why: gradviz has no explanation for this error",),
    )
