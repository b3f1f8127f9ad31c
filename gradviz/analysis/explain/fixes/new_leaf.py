"""A result that becomes a leaf where it is made."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.analysis.code.sites import Site, site_of
from gradviz.analysis.code.statements import Statement
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.operands import GivenOperand
from gradviz.analysis.explain.fixes.rewriting import called
from gradviz.model.explanation import Fix
from gradviz.model.sentence import say


def where_made(found: GivenOperand, context: ErrorContext) -> Iterator[Fix]:
    """``detach().requires_grad_()`` behind the expression that makes a tensor.

    The values stay; what it was computed from gets no gradient through it any longer.
    """
    site = site_that_made(found, context)
    if site is not None and isinstance(site.node, ast.expr):
        yield _made_leaf(found, site.statement, site.node)


def of_line(found: GivenOperand, statement: Statement | None) -> Iterator[Fix]:
    """The same for a line that assigns an expression to the variable of the tensor."""
    node = None if statement is None else statement.node
    value = node.value if isinstance(node, ast.Assign) else None
    # Of what a module or function returns, its parameters may be meant.
    is_operation = not isinstance(value, ast.Call) or isinstance(value.func, ast.Attribute)
    if statement is not None and isinstance(node, ast.Assign) and is_operation:
        yield _made_leaf(found, statement, node.value)


def _made_leaf(found: GivenOperand, statement: Statement, value: ast.expr) -> Fix:
    code = statement.edited(called(value, "detach().requires_grad_()"))
    does = say("makes {} a leaf with these values; backward ends there", found.words)
    return Fix(does, code, "instead", statement.at)


def site_that_made(found: GivenOperand, context: ErrorContext) -> Site | None:
    """The expression whose value a tensor is; ``None`` if a function inside of it made it."""
    made = context.history.makers.get(found.key or "")
    if made is None or context.history.span(made[0][0]) is not None:
        return None
    place, operation = made
    site = site_of(context.history, place, operation)
    if site is None or site.function_around(operation.name) is not None or site.ordinal:
        return None
    return site
