"""A view made again where autograd records, or after its base was written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.analysis.code.bindings import bound_before
from gradviz.analysis.code.grad_switches import is_switched_off
from gradviz.analysis.code.statements import (
    Statement,
    is_read_later,
    last_name,
    names_bound,
    names_read,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.operands import GivenOperand, line_of
from gradviz.analysis.explain.fixes.rewriting import Rewriting
from gradviz.analysis.explain.fixes.rewriting import before as put_before
from gradviz.model.explanation import Fix
from gradviz.model.sentence import say


def line_that_made(view: GivenOperand, context: ErrorContext) -> Statement | None:
    """The line that gave a view its name, in the function that raised; ``None`` if the text does
    not show just one that certainly ran."""
    statement, name = context.statement, view.name
    if statement is None or name is None or not name.isidentifier():
        return None
    found = bound_before(name, statement)
    recorded = line_of(view.key, context)
    if found is not None and recorded is not None:
        made = context.statement_at(recorded)
        is_it = (recorded.line, recorded.code) == (found.line, found.code.name)
        is_inside = made is None or made.code != found.code or made.function != found.function
        return found if is_it or is_inside else None
    return found


def before(view: GivenOperand, statement: Statement, context: ErrorContext) -> Iterator[Fix]:
    """The line that made a view, once more before a line that uses it."""
    made = line_that_made(view, context)
    if made is None or not made.is_alone or not isinstance(made.node, ast.Assign):
        return
    if not _gives_views(made.node.value):
        return
    between = [s for s in statements_of(made.code) if made.place < s.place < statement.place]
    bound = {
        name
        for one in between
        for name in names_bound(one)
        if not (isinstance(one.node, ast.AugAssign) and context.tensor_named(name) is not None)
    }
    if bound & {*names_read(made.node.value), *names_bound(made)} or _is_of_unrecorded(made):
        return
    does = say("makes {} again, as a view that autograd follows", view.words)
    yield Fix(does, made.text, "before", statement.at)


def _is_of_unrecorded(made: Statement) -> bool:
    """Whether a view was made from another one that was made without recording, too."""
    found = (bound_before(name, made) for name in names_read(made.node))
    lines = (one for one in found if one is not None)
    return any(is_switched_off(outer) for one in lines for outer in one.around)


def is_seen_later(made: Statement, context: ErrorContext) -> bool:
    """Whether what a view was made from is read after the line that raised: it would not have the
    values that are written."""
    statement = context.statement
    names = names_read(getattr(made.node, "value", None) or made.node)
    values = [name for name in names if context.tensor_named(name) is not None]
    return statement is None or any(is_read_later(name, statement) for name in values)


def target_of_write(statement: Statement) -> str | None:
    """The variable that a line writes to: ``scores`` of ``scores[0] = 1``, ``scores.zero_()``."""
    node = statement.node
    part: ast.expr | None = None
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        part = node.targets[0]
    elif isinstance(node, ast.AugAssign):
        part = node.target
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        part = node.value.func
    while isinstance(part, (ast.Subscript, ast.Attribute, ast.Call)):
        part = part.func if isinstance(part, ast.Call) else part.value
    return part.id if isinstance(part, ast.Name) else None


def copied(view: GivenOperand, written: Statement | None) -> Iterator[Fix]:
    """A copy with memory of its own, before a line writes to it."""
    if written is not None and view.info is not None and not written.is_compound:
        change = put_before(written, f"{view.name} = {view.name}.clone()")
        if change is not None:
            does = say("{} gets its own storage, which may be modified", view.words)
            yield Rewriting(written, (change,)).fix(does)


def _gives_views(value: ast.expr) -> bool:
    """Whether an expression has no other effect when it is computed again."""
    parts = list(ast.walk(value))
    calls = [one for one in parts if isinstance(one, ast.Call)]
    is_method = all(isinstance(one.func, ast.Attribute) for one in calls)
    changes = any(last_name(one.func).endswith("_") for one in calls)
    return is_method and not changes and not isinstance(value, (ast.Constant, ast.Name))
