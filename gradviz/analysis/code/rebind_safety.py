"""Whether a new tensor may take the place of a variable: all that follows must see it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.analysis.code.scopes import all_arguments
from gradviz.analysis.code.statements import (
    Statement,
    is_read_later,
    last_name,
    loops_around,
    names_bound,
    statements_of,
)

_KEEPING = frozenset({"append", "extend", "insert", "add", "setattr", "setdefault", "update"})
"""Methods and functions that keep their argument under another name."""


def may_rebind(statement: Statement, name: str) -> bool:
    """Whether a new tensor may take the place of a variable here, and all that follows sees it.

    It may not if the line, or another one, has it under another name, or if it comes from outside
    of a function: who called would not see the new one.

    Args:
        statement: The line.
        name: How the tensor is typed there.
    """
    if not any(_is_it(part, name, statement) for part in statement.parts):
        return False
    if has_other_name(statement, name):
        return False
    function = statement.function
    if function is None or not name.isidentifier():
        return function is None or isinstance(_tree(name), ast.Attribute)
    if _last_binding(statement, name) is not None:
        return True
    inside = [s for s in statements_of(statement.code) if function in s.around]
    plain = [s for s in inside if not isinstance(s.node, ast.AugAssign)]
    return name not in all_arguments(function) and any(name in names_bound(one) for one in plain)


def may_leave(statement: Statement, name: str) -> bool:
    """Whether a line whose result is used need not write: nobody reads what it would write."""
    if not isinstance(statement.node, (ast.Assign, ast.Return)):
        return False
    if is_read_later(name, statement) or has_other_name(statement, name):
        return False
    return statement.function is None or may_rebind(statement, name)


def _is_it(part: ast.AST | None, name: str, statement: Statement) -> bool:
    is_name = isinstance(part, (ast.Name, ast.Attribute, ast.Subscript))
    return is_name and statement.segment(part) == name  # type: ignore[arg-type]


def has_other_name(statement: Statement, name: str) -> bool:
    """Whether a line gives it another name, or puts it into a list, or took it from there.

    Of what ran before the name was bound, only that counts which runs again before the line.
    """
    every = statements_of(statement.code)
    bound = _last_binding(statement, name)
    if bound is None:
        return any(_hands_on(other, name) for other in every)
    known = {id(outer) for outer in bound.around}
    loops = {id(loop) for loop in loops_around(statement)} - known
    counted = (
        other
        for other in every
        if bound.place <= other.place <= statement.place
        or loops & {id(outer) for outer in other.around}
    )
    return any(_hands_on(other, name) for other in counted)


def _last_binding(statement: Statement, name: str) -> Statement | None:
    """The line before a statement that certainly has bound a variable last."""
    around = [id(outer) for outer in statement.around]
    found = None
    for other in statements_of(statement.code):
        if other.place >= statement.place or isinstance(other.node, ast.AugAssign):
            continue
        if name in names_bound(other) and isinstance(other.node, ast.Assign):
            outer = [id(one) for one in other.around]
            found = other if outer == around[: len(outer)] else None
    return found


def _hands_on(other: Statement, name: str) -> bool:
    node = other.node
    if isinstance(node, ast.For) and name in names_bound(other):
        return True
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        is_plain = isinstance(node.value, (ast.Name, ast.Attribute, ast.Subscript))
        if is_plain and any(_is_it(target, name, other) for target in targets):
            return True
        if len(targets) > 1 and any(_is_it(target, name, other) for target in targets):
            return True
    return any(_is_it(one, name, other) for part in other.parts for one in _kept(part, other))


def _kept(part: ast.AST, statement: Statement) -> Iterator[ast.AST]:
    """What gets a name, or a place in a list, in one part of a statement."""
    todo: list[ast.AST | None] = []
    if isinstance(part, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        todo = [part.value]
    elif isinstance(part, ast.Call) and getattr(statement.node, "value", None) is part:
        is_keeping = isinstance(statement.node, ast.Expr) and last_name(part.func) in _KEEPING
        todo = [*part.args, *(k.value for k in part.keywords)] if is_keeping else []
    while todo:
        one = todo.pop()
        if isinstance(one, (ast.List, ast.Tuple, ast.Set)):
            todo += one.elts
        elif isinstance(one, ast.Dict):
            todo += one.values
        elif one is not None:
            yield one


def _tree(name: str) -> ast.expr | None:
    try:
        return ast.parse(name, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
