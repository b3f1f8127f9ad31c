"""Values that Python passed on between two calls of torch, read from the text of the lines."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from gradviz.analysis.code.frames import frames_of
from gradviz.analysis.code.python_flow import Arrival, arrivals
from gradviz.analysis.code.statements import (
    Statement,
    calls_in,
    names_bound,
    names_read,
    statements_at,
)
from gradviz.analysis.cuts import FROM_VALUES
from gradviz.model.calls import RecordedCall
from gradviz.model.history import History

_Frame: TypeAlias = "tuple[int | None, int]"
"""A call of a function: the step of the line that called it, and the place of its code."""


class PythonValues:
    """The lines of a recording, by the variables that they read and bind.

    Args:
        history: The recording.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._known: dict[int, list[tuple[_Frame, int]]] = {}

    def is_known(self, step: int) -> bool:
        """Whether the text of a step's line is known."""
        return bool(statements_at(self._history, step))

    def makes_tensor(self, step: int) -> bool:
        """Whether the line of a step makes a tensor of values."""
        return any(map(_makes_tensor, statements_at(self._history, step)))

    def steps_before(self, step: int) -> Iterator[int]:
        """Earlier steps whose lines changed what the line of a step reads, the last one first.

        With them those that returned a value to such a line, and those that gave an argument to
        the function of the line.
        """
        history = self._history
        own = statements_at(history, step)
        making = [one for one in own if _makes_tensor(one)] or own
        *callers, (key, _) = self._frames(step)
        needed = {key: _names_read(making)}
        waiting = {step}
        """Steps of the lines to which a function may have returned what is needed."""
        for frame, caller in callers:
            needed.setdefault(frame, set()).update(_names_read(statements_at(history, caller)))
            waiting.add(caller)
        for earlier in range(step - 1, 0, -1):
            if history.recording.records[earlier].kind != "line":
                continue
            frame, end = self._frames(earlier)[-1]
            if end != earlier:
                continue
            is_changed = False
            for other in reversed(statements_at(history, earlier)):
                is_given = isinstance(other.node, ast.Return) and frame[0] in waiting
                if is_given or _changes(other, needed.get(frame, set())):
                    is_changed = True
                    names = needed.setdefault(frame, set())
                    if isinstance(other.node, ast.Assign):
                        names -= set(names_bound(other))
                    names |= _names_read([other])
            if is_changed:
                waiting.add(earlier)
                yield earlier

    def wraps(self, step: int) -> bool:
        """Whether the line of a step makes a ``Variable``, which is no call that is recorded."""
        return any(calls_in(one, "Variable") for one in statements_at(self._history, step))

    def returned_to(self, step: int) -> Iterator[int]:
        """Earlier steps at which functions returned a value to the line of a step."""
        records = self._history.recording.records
        for earlier in range(step - 1, 0, -1):
            if records[earlier].level == 0 and records[earlier].depth <= records[step].depth:
                if self._frames(earlier)[-1][1] != step:
                    return
            elif records[earlier].kind == "line":
                frame, end = self._frames(earlier)[-1]
                found = statements_at(self._history, earlier)
                is_returned = any(isinstance(one.node, ast.Return) for one in found)
                if end == earlier and frame[0] == step and is_returned:
                    yield earlier

    def arrivals(self, calls: Sequence[RecordedCall]) -> list[Arrival]:
        """The calls into which values came that had left torch, in the order in which they ran."""
        return arrivals(self._history, calls)

    def _frames(self, step: int) -> list[tuple[_Frame, int]]:
        """The calls of functions that were running at a step, the outermost first, each with the
        step of its line."""
        if step not in self._known:
            steps = frames_of(step, self._history)
            records = self._history.recording.records
            callers = (None, *steps)
            self._known[step] = [
                ((caller, records[at].code), at) for caller, at in zip(callers, steps)
            ]
        return self._known[step]


def _names_read(statements: Iterable[Statement]) -> set[str]:
    return {name for one in statements for name in names_read(_value_of(one))}


def _makes_tensor(statement: Statement) -> bool:
    return any(isinstance(p, ast.Attribute) and p.attr in FROM_VALUES for p in statement.parts)


def _value_of(statement: Statement) -> ast.AST:
    node = statement.node
    return getattr(node, "value", None) or node


def _changes(statement: Statement, needed: set[str]) -> bool:
    """Whether a statement changes one of these variables: binds it, adds to it, appends to it."""
    if needed & set(names_bound(statement)):
        return True
    node = statement.node
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        owner = call.func.value
        return isinstance(owner, ast.Name) and owner.id in needed
    return False
