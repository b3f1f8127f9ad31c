"""``backward`` of a Python number, without inputs, or inside a transform of ``torch.func``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.statements import (
    Statement,
    calls_in,
    last_name,
    names_bound,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.rewriting import Rewriting
from gradviz.model.explanation import Cause, Fix
from gradviz.model.sentence import say


@dataclass(frozen=True, kw_only=True)
class NotATensor(Finding):
    """The line that made a number of a tensor, and the expression that did."""

    statement: Statement | None
    call: ast.Call | None


def number(context: ErrorContext) -> Iterator[NotATensor]:
    """The line that made a Python number of the loss."""
    found = re.search(r"^'([\w.]+)' object", context.raised.message)
    statement = context.statement
    root = _root(statement, is_method="attribute" in context.raised.message)
    if found is None or root is None or statement is None:
        return
    name = ast.unparse(root)
    made = [
        (one, call)
        for one in statements_of(statement.code)
        if one.line <= statement.line and name in names_bound(one)
        if (call := _number_in(one)) is not None
    ]
    line, call = made[-1] if len(made) == 1 else (None, None)
    what = say("makes a Python number of the tensor")
    yield NotATensor(
        history=context.history,
        step=context.step,
        words={"it": name, "type": found[1]},
        variables=(name,),
        causes=() if line is None else (Cause("cut", what, line.at),),
        statement=line,
        call=call,
    )


def _root(statement: Statement | None, is_method: bool) -> ast.expr | None:
    """What backward was called on, or what was given to ``autograd.grad`` or ``backward``."""
    calls = [] if statement is None else calls_in(statement, "backward", "grad")
    if len(calls) != 1 or not isinstance(calls[0].func, ast.Attribute):
        return None
    if is_method:
        return calls[0].func.value
    given = calls[0].args[0] if len(calls[0].args) > 0 else None
    is_function = last_name(calls[0].func.value) == "autograd"
    return given if is_function and isinstance(given, ast.Name) else None


def _number_in(statement: Statement) -> ast.Call | None:
    """``.item()`` or ``float()`` around all that a line binds."""
    value = getattr(statement.node, "value", None)
    if not isinstance(value, ast.Call) or value.keywords:
        return None
    if last_name(value.func) == "item" and isinstance(value.func, ast.Attribute):
        return value if not value.args else None
    is_float = isinstance(value.func, ast.Name) and value.func.id == "float"
    return value if is_float and len(value.args) == 1 else None


def as_tensor(found: NotATensor) -> Iterator[Fix]:
    """The tensor in place of its number."""
    statement, call = found.statement, found.call
    if statement is None or call is None:
        return
    inner = call.args[0] if call.args else getattr(call.func, "value", None)
    if isinstance(inner, ast.expr):
        does = say("keeps the tensor, which has a graph")
        yield Rewriting(statement, ((call, statement.segment(inner)),)).fix(does)


def without_inputs(context: ErrorContext) -> Iterator[Finding]:
    """``inputs`` of backward or grad is an empty list."""
    statement = context.statement
    calls = [] if statement is None else calls_in(statement, "backward", "grad")
    given = [k.value for c in calls for k in c.keywords if k.arg == "inputs"]
    given += [c.args[1] for c in calls if last_name(c.func) == "grad" and len(c.args) > 1]
    value = given[0] if given else None
    text = "inputs" if value is None else ast.unparse(value)
    made = [
        one
        for one in (() if statement is None else statements_of(statement.code))
        if isinstance(value, ast.Name) and value.id in names_bound(one)
    ]
    causes = [Cause("other", say("it is made here"), made[-1].at)] if made else []
    yield Finding(
        history=context.history,
        step=context.step,
        words={"it": text if len(text) < 40 else "the list of inputs"},
        variables=(value.id if isinstance(value, ast.Name) else None,),
        causes=tuple(causes),
    )


def inside_transform(context: ErrorContext) -> Iterator[Finding]:
    """A call where it cannot be: ``backward()`` in a function that ``torch.func`` transforms."""
    yield Finding(
        history=context.history,
        step=context.step,
        causes=(Cause("other", say("it is called here"), context.noticed),),
    )
