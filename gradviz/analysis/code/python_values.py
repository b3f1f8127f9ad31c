"""Values that Python passed on between two calls of torch, read from the text of the lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.analysis.code.statements import (
    Statement,
    names_bound,
    names_read,
    statements_at,
)
from gradviz.analysis.cuts import FROM_VALUES
from gradviz.model.history import History


class PythonValues:
    """The lines of a recording, by the variables that they read and bind.

    Args:
        history: The recording.
    """

    def __init__(self, history: History) -> None:
        self._history = history

    def is_known(self, step: int) -> bool:
        """Whether the text of a step's line is known."""
        return bool(statements_at(self._history, step))

    def makes_tensor(self, step: int) -> bool:
        """Whether the line of a step makes a tensor of values."""
        return any(map(_makes_tensor, statements_at(self._history, step)))

    def steps_before(self, step: int) -> Iterator[int]:
        """Earlier steps whose lines changed what the line of a step reads, the last one first."""
        own = statements_at(self._history, step)
        making = [one for one in own if _makes_tensor(one)] or own
        needed = {name for one in making for name in names_read(_value_of(one))}
        for earlier in range(step - 1, 0, -1):
            if self._history.recording.records[earlier].kind != "line":
                continue
            is_changed = False
            for other in reversed(statements_at(self._history, earlier)):
                if _changes(other, needed):
                    is_changed = True
                    if isinstance(other.node, ast.Assign):
                        needed -= set(names_bound(other))
                    needed |= set(names_read(_value_of(other)))
            if is_changed:
                yield earlier


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
