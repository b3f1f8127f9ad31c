"""Values that went through Python between two calls of torch, as the text of the lines tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.analysis.cuts import FROM_VALUES
from gradviz.analysis.explaining.statements import (
    Statement,
    names_bound,
    names_read,
    statement_of,
)
from gradviz.model.history import History


class PythonValues:
    """The lines of a recording, by the variables that they read and bind.

    Args:
        history: What is looked into.
    """

    def __init__(self, history: History) -> None:
        self._history = history

    def is_known(self, step: int) -> bool:
        """Whether the text of a step's line is known."""
        return self._statement(step) is not None

    def makes_tensor(self, step: int) -> bool:
        """Whether the line of a step makes a tensor of values."""
        statement = self._statement(step)
        return statement is not None and any(
            isinstance(part, ast.Attribute) and part.attr in FROM_VALUES for part in statement.parts
        )

    def steps_before(self, step: int) -> Iterator[int]:
        """Earlier steps whose lines changed what the line of a step reads, the last one first."""
        statement = self._statement(step)
        needed = set() if statement is None else set(names_read(_value_of(statement)))
        for earlier in range(step - 1, 0, -1):
            if self._history.recording.facts[earlier].kind != "line":
                continue
            other = self._statement(earlier)
            if other is None or not _changes(other, needed):
                continue
            yield earlier
            if isinstance(other.node, ast.Assign):
                needed -= set(names_bound(other))
            needed |= set(names_read(_value_of(other)))

    def _statement(self, step: int) -> Statement | None:
        return statement_of(self._history, self._history.line(step))


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
