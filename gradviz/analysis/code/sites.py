"""The expression of a call: where in the text of a line the recording saw it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TypeAlias

from gradviz.analysis.code.statements import (
    Statement,
    TextPlace,
    code_of,
    end_of,
    last_name,
    place_in,
    start_of,
    statements_of,
)
from gradviz.model.events import (
    BackwardStarted,
    Operation,
    OptimizerStepped,
    Position,
    Refused,
    Write,
)
from gradviz.model.history import EventPlace, History
from gradviz.model.recording import Code

Placed: TypeAlias = "Operation | Write | Refused | BackwardStarted | OptimizerStepped"
"""The events that stand for a call."""


@dataclass(frozen=True)
class Site:
    """The position of a call.

    Args:
        statement: The statement it is part of.
        node: The call, attribute or operation; the statement itself for ``h += 1``, the target
            for ``h[0] = 3``.
        ordinal: 0 for the first call that this expression made when its line ran.
    """

    statement: Statement
    node: ast.expr | ast.AugAssign
    ordinal: int = 0

    def is_in(self, part: ast.AST) -> bool:
        """Whether it is a part of an expression, or that itself."""
        return any(one is self.node for one in ast.walk(part))

    def call_of(self, *names: str) -> ast.Call | None:
        """The call, if it is one of a function or method with one of these last names.

        It is another one where the line calls a function that is not recorded.
        """
        node = self.node
        return node if isinstance(node, ast.Call) and last_name(node.func) in names else None

    def function_around(self, name: str) -> ast.expr | None:
        """The function that is called here, if it is not the one with this name.

        Then the recording does not follow the lines of that function, and one of them made the
        call.
        """
        node = self.node
        if not isinstance(node, ast.Call) or last_name(node.func) == name:
            return None
        return node.func


def site_of(history: History, when: EventPlace | int, event: Placed | None) -> Site | None:
    """The expression of a call; ``None`` if its position is not known, or not in the text.

    Args:
        history: The recording.
        when: Step of the call.
        event: The call.
    """
    position = None if event is None else event.position
    code = code_of(history.recording, history.line(when))
    return None if code is None or position is None else _site(code, position)


def _site(code: Code, position: Position) -> Site | None:
    start = place_in(code, position.line, position.column)
    end = place_in(code, position.end_line, position.end_column)
    found = []
    for statement in statements_of(code):
        if start_of(statement.node) <= start and end <= end_of(statement.node):
            found += [
                Site(statement, part, position.ordinal)
                for part in statement.parts
                if isinstance(part, (ast.expr, ast.AugAssign)) and _is_at(part, start, end)
            ]
    return found[0] if found else None


def _is_at(part: ast.expr | ast.AugAssign, start: TextPlace, end: TextPlace) -> bool:
    if end_of(part) != end:
        return False
    if start_of(part) == start:
        return True
    # Over several lines the call of a method begins at the method's name.
    named = part.func if isinstance(part, ast.Call) else part
    if not isinstance(named, ast.Attribute):
        return False
    row, column = end_of(named)
    return start == (row, column - len(named.attr.encode()))
