"""Other calls in place of methods that a tensor of the graph refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from gradviz.analysis.code.sites import Site
from gradviz.analysis.code.statements import Span, Statement, end_of, is_named, start_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.operands import GivenOperand
from gradviz.analysis.explain.fixes.rewriting import Rewriting
from gradviz.model.explanation import Fix
from gradviz.model.sentence import Sentence, say


def reshaped(found: GivenOperand, context: ErrorContext) -> Iterator[Fix]:
    """``y = y.reshape(4, 2)`` in place of ``y.resize_(4, 2)``."""
    called = method_of(context, "resize_")
    if called is None or found.info is None or found.info.is_leaf or found.sizes is None:
        return
    site, call = called
    sizes = call.args[0].elts if _is_sequence(call) else call.args  # type: ignore[attr-defined]
    numbers = [one.value for one in sizes if isinstance(one, ast.Constant)]
    if call.keywords or len(numbers) != len(sizes) or not all(type(n) is int for n in numbers):
        return
    if prod(numbers) != prod(found.sizes):  # type: ignore[arg-type]
        return
    does = say("makes a view of another shape")
    yield from _in_place_of(found, site, call, "reshape", does)


def _is_sequence(call: ast.Call) -> bool:
    return len(call.args) == 1 and isinstance(call.args[0], (ast.Tuple, ast.List))


def detached(found: GivenOperand, context: ErrorContext) -> Iterator[Fix]:
    """``h = h.detach()`` in place of ``h.detach_()``."""
    called = method_of(context, "detach_")
    if called is None:
        return
    site, call = called
    assert isinstance(call.func, ast.Attribute)
    if is_loop_variable(site.statement, ast.unparse(call.func.value)):
        yield from detached_in_loop(site, call.func.value, context)
        return
    does = say("makes a tensor outside the graph; what {} is a view of stays in it", found.words)
    yield from _in_place_of(found, site, call, "detach", does)


def detached_in_loop(site: Site, owner: ast.expr, context: ErrorContext) -> Iterator[Fix]:
    """A tuple of detached tensors in place of a loop that does nothing else with each tensor of a
    list: an assignment to the variable of a loop changes no list.

    Args:
        site: The call or assignment in the loop.
        owner: The tensor, as it is typed there.
        context: The error.
    """
    outer = site.statement.around[-1] if site.statement.around else None
    if not isinstance(outer, ast.For) or outer.body != [site.statement.node] or outer.orelse:
        return
    items, target = outer.iter, outer.target
    is_it = isinstance(target, ast.Name) and is_named(owner, target.id)
    if not is_it or not isinstance(items, (ast.Name, ast.Attribute)):
        return
    head = Statement(site.statement.code, outer, site.statement.around[:-1])
    variable, text = ast.unparse(target), head.segment(items)
    if context.tensor_named(text) is not None:
        return
    code = f"{text} = tuple({variable}.detach() for {variable} in {text})"
    gone = Fix(Sentence(), "", "instead", site.statement.at)
    yield Fix(say("makes tensors outside the graph"), code, "instead", head.at, (gone,))


def method_of(context: ErrorContext, name: str) -> tuple[Site, ast.Call] | None:
    """The call of a method in the line that raised, if there is just one."""
    statement = context.statement
    if statement is None or statement.is_compound:
        return None
    calls = [
        part
        for part in statement.parts
        if isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr == name
    ]
    return (Site(statement, calls[0]), calls[0]) if len(calls) == 1 else None


def _in_place_of(
    found: GivenOperand, site: Site, call: ast.Call, method: str, does: Sentence
) -> Iterator[Fix]:
    """Another method; the variable is bound to what it gives if nothing else is."""
    assert isinstance(call.func, ast.Attribute)
    statement, owner = site.statement, call.func.value
    row, column = end_of(call.func)
    renamed = (Span((row, column - len(call.func.attr.encode())), (row, column)), method)
    if isinstance(statement.node, ast.Expr):
        if statement.node.value is not call or not isinstance(owner, (ast.Name, ast.Attribute)):
            return
        name = ast.unparse(owner)
        has_others = found.info is None or bool(found.info.aliases)
        if has_others or is_loop_variable(statement, name):
            return
        changes = ((start_of(statement.node), f"{name} = "), renamed)
        yield Rewriting(statement, changes).fix(does)
        return
    yield Rewriting(statement, (renamed,)).fix(does)


def is_loop_variable(statement: Statement, name: str) -> bool:
    """Whether a loop around a line binds a variable."""
    loops = (one for one in statement.around if isinstance(one, (ast.For, ast.AsyncFor)))
    return any(
        isinstance(part, ast.Name) and part.id == name
        for loop in loops
        for part in ast.walk(loop.target)
    )
