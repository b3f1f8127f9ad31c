"""A loop over parameters that skips those without a gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.analysis.code.statements import (
    Statement,
    end_of,
    is_read_later,
    loops_around,
    names_bound,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.model.explanation import Fix
from gradviz.model.sentence import say

_Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp

_GROUPS = ("parameters", "named_parameters")


def over_parameters(statement: Statement | None) -> Iterator[tuple[ast.Attribute, str]]:
    """Each ``.grad`` of a variable of a comprehension over ``module.parameters()``, with the
    module as it is typed."""
    for read, whole in _in_comprehensions(statement):
        given = whole.generators[0].iter
        function = given.func if isinstance(given, ast.Call) else None
        if isinstance(function, ast.Attribute) and function.attr in _GROUPS:
            yield read, ast.unparse(function.value)


def over_list(statement: Statement | None) -> Iterator[tuple[ast.Attribute, str]]:
    """Each ``.grad`` of the variable of a comprehension over a list, with the list as it is
    typed."""
    for read, whole in _in_comprehensions(statement):
        given, target = whole.generators[0].iter, whole.generators[0].target
        is_it = ast.unparse(target) == ast.unparse(read.value)
        if is_it and isinstance(given, (ast.Name, ast.Attribute)):
            yield read, ast.unparse(given)


def is_of_loop(read: ast.Attribute, statement: Statement | None) -> bool:
    """Whether a ``.grad`` is that of a variable of a loop or comprehension."""
    if not isinstance(read.value, ast.Name) or statement is None:
        return False
    name = read.value.id
    if any(one is read for one, _ in _in_comprehensions(statement)):
        return True
    loops = (one for one in loops_around(statement) if isinstance(one, ast.For))
    return any(name in _bound_by(one.target) for one in loops)


def where_none(read: ast.Attribute, context: ErrorContext) -> Iterator[Fix]:
    """``if p.grad is not None``, if others in the loop have a gradient."""
    statement, owner = context.statement, ast.unparse(read)
    others = (info for info in context.history.tensors_at(context.step) if info.is_leaf)
    if statement is None or not any(info.grad is not None for info in others):
        return
    does = say("skips parameters without a gradient, as an optimizer does")
    for one, whole in _in_comprehensions(statement):
        if one is read:
            last = whole.generators[-1]
            at = end_of(last.ifs[-1] if last.ifs else last.iter)
            code = statement.edited([(at, f" if {owner} is not None")])
            yield Fix(does, code, "instead", statement.at)
            return
    if statement.is_compound or not statement.is_alone:
        return
    bound = [name for name in names_bound(statement) if is_read_later(name, statement)]
    if not bound or isinstance(statement.node, ast.AugAssign):
        inside = "\n".join(f"    {line}" for line in statement.text.split("\n"))
        yield Fix(does, f"if {owner} is not None:\n{inside}", "instead", statement.at)
        return
    yield Fix(does, f"if {owner} is None:\n    continue", "before", statement.at)


def _in_comprehensions(
    statement: Statement | None,
) -> Iterator[tuple[ast.Attribute, _Comprehension]]:
    """Each ``.grad`` of a variable that a comprehension of a line binds."""
    for whole in () if statement is None else statement.parts:
        if not isinstance(whole, _Comprehension):
            continue
        bound = {name for one in whole.generators for name in _bound_by(one.target)}
        for part in ast.walk(whole):
            if (
                isinstance(part, ast.Attribute)
                and part.attr == "grad"
                and isinstance(part.value, ast.Name)
                and part.value.id in bound
            ):
                yield part, whole


def _bound_by(target: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}
