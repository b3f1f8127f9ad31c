"""The expression of a call: where in the text of a line the recording saw it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gradviz.analysis.explaining.statements import (
    Statement,
    last_name,
    statement_of,
)
from gradviz.model.events import Operation, Refused, Write
from gradviz.model.history import History, Place


@dataclass(frozen=True)
class Site:
    """Where a call stands.

    Args:
        statement: The statement it is part of.
        node: The call; the statement itself for ``h += 1``, the target for ``h[0] = 3``.
        ordinal: 0 for the first call that this expression made when its line ran.
    """

    statement: Statement
    node: ast.expr | ast.AugAssign
    ordinal: int = 0


def site_of(
    history: History, when: Place | int, event: Operation | Write | Refused | None
) -> Site | None:
    """The expression of a call; ``None`` if its position is not known, or not in the text."""
    statement = statement_of(history, when)
    if statement is None or event is None:
        return None
    node = statement.node
    by = event.by if isinstance(event, Write) else event.name
    if isinstance(node, ast.AugAssign):
        return Site(statement, node)
    if by in ("__setitem__", "an assignment to .data") and isinstance(node, ast.Assign):
        return Site(statement, node.targets[0])
    names = {by, by.rstrip("_")}
    found = [
        part
        for part in statement.parts
        if isinstance(part, (ast.Call, ast.Attribute))
        and last_name(part.func if isinstance(part, ast.Call) else part) in names
        and (isinstance(part, ast.Call) or by == "data")
    ]
    return Site(statement, found[0]) if len(found) == 1 else None
