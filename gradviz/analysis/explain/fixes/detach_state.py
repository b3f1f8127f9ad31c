"""Detaching the state that a loop carries from one iteration to the next."""

from __future__ import annotations

import ast
import re

from gradviz.analysis.code.statements import (
    Statement,
    calls_in,
    is_expression,
    last_name,
    names_bound,
    names_read,
    same_block,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.loop_state import Carried
from gradviz.model.explanation import Fix
from gradviz.model.sentence import say


def cut_state(carried: Carried, context: ErrorContext) -> Fix | None:
    """Detach it after its backward, or after the line that hands it on."""
    noticed = context.statement
    if (
        noticed is None
        or not carried.is_complete
        or not carried.names
        or not all(map(is_expression, carried.names))
    ):
        return None
    codes, place = [], noticed
    for base in dict.fromkeys(name.partition("[")[0] for name in carried.names):
        inside = [n for n in carried.names if n.partition("[")[0] == base and n != base]
        if _has_other_names(base, carried, context):
            return None
        bound = _bound_after(base, carried, context)
        if bound is not None and bound.line > place.line:
            if not same_block(bound, noticed):
                return None
            place = bound
        code = f"{base} = {base}.detach()"
        if inside:
            is_in_order = all(re.fullmatch(r".*\[\d+\]", name) for name in inside)
            if not is_in_order or not _is_bound(base, context):
                return None
            each = f"one.detach() for one in {base}"
            code = f"{base} = [{each}]" if _is_list(base, noticed) else f"{base} = tuple({each})"
        codes.append(code)
    does = say(
        "ends the graph here: each iteration trains on its own part (truncated backpropagation)"
    )
    return Fix(does, "\n".join(codes), "after", place.at)


def _users(carried: Carried, context: ErrorContext) -> list[tuple[int, Statement]]:
    """Statements of this iteration that used the carried state, with their steps."""
    found = []
    for key in carried.users:
        node = context.history.node(key, context.step)
        line = None if node is None else context.history.made_at(node)
        statement = context.statement_at(line)
        born = context.history.born(key)
        if statement is not None and born is not None:
            found.append((born, statement))
    return found


def _bound_after(base: str, carried: Carried, context: ErrorContext) -> Statement | None:
    """The statement that bound a variable last before this pass used it."""
    for step, _ in _users(carried, context):
        return _last_binding(base, step, context)
    return None


def _last_binding(name: str, until: int, context: ErrorContext) -> Statement | None:
    for step in range(until - 1, 0, -1):
        if context.recording.records[step].kind == "line":
            statement = context.statement_at(context.history.line(step))
            if statement is not None and name in names_bound(statement):
                return statement
    return None


def _has_other_names(base: str, carried: Carried, context: ErrorContext) -> bool:
    """Whether it may have been used under another name, which would have to be detached too."""
    for step, statement in _users(carried, context):
        read = names_read(statement.node)
        if base.partition(".")[0] not in read and not _is_own(base, statement):
            return True
        for other in read:
            bound = None if other == base else _last_binding(other, step, context)
            value = getattr(bound.node, "value", None) if bound is not None else None
            is_alias = isinstance(value, (ast.Name, ast.Attribute, ast.Subscript, ast.Starred))
            if is_alias and value and base.partition(".")[0] in names_read(value):
                return True
    return False


def _is_own(base: str, statement: Statement) -> bool:
    """Whether a method refers to it as ``self.state``, which is ``model.state`` outside."""
    own = f"self.{base.rpartition('.')[2]}"
    parts = [part for part in statement.parts if isinstance(part, ast.Attribute)]
    return "." in base and any(ast.unparse(part) == own for part in parts)


def _is_bound(base: str, context: ErrorContext) -> bool:
    """Whether a recorded line binds it, so that what it holds is no dict of an object."""
    return any(
        isinstance(part, (ast.Name, ast.Attribute))
        and isinstance(part.ctx, ast.Store)
        and last_name(part) == base.rpartition(".")[2]
        for code in context.recording.codes
        for statement in statements_of(code)
        for part in statement.parts
    )


def _is_list(name: str, statement: Statement) -> bool:
    """Whether the code uses a variable as a list that it changes."""
    for other in statements_of(statement.code):
        for call in calls_in(other, "append", "extend", "insert"):
            if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == name:
                return True
        node = other.node
        made = isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.ListComp))
        if made and name in [ast.unparse(t) for t in getattr(node, "targets", ())]:
            return True
    return False
