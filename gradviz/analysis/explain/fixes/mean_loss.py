"""The mean of a loss that has one number per example."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.analysis.code.statements import Statement, statements_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_root import BackwardRoot, called_root
from gradviz.analysis.explain.errors.operands import GivenOperand
from gradviz.analysis.explain.fixes.new_leaf import site_that_made
from gradviz.analysis.explain.fixes.rewriting import called, called_before
from gradviz.model.explanation import Fix
from gradviz.model.sentence import say


def where_made(root: BackwardRoot, context: ErrorContext) -> Iterator[Fix]:
    """``.mean()`` behind the expression that makes the loss, if only backward reads the loss."""
    if root.info is None or not root.keys or not _is_read_once(root, context):
        return
    operand = GivenOperand(root.keys[0], root.name, root.info, root.sizes, root.dtype)
    site = site_that_made(operand, context)
    if (
        site is None
        or not isinstance(site.node, ast.expr)
        or not _is_whole(site.node, site.statement)
    ):
        return
    code = site.statement.edited(called(site.node, "mean()"))
    does = say('makes the loss the mean over its elements, as reduction="mean" does')
    yield Fix(does, code, "instead", site.statement.at)


def where_used(context: ErrorContext) -> Iterator[Fix]:
    """``.mean()`` before backward starts."""
    found = called_root(context)
    if found is None or isinstance(found.root, (ast.List, ast.Tuple)):
        return
    changes = (
        called_before(found.call, "mean()") if found.is_method else called(found.root, "mean()")
    )
    does = say("computes the gradient of the mean over all elements")
    yield Fix(does, found.statement.edited(changes), "instead", found.statement.at)


def _is_whole(node: ast.expr, statement: Statement) -> bool:
    """Whether an expression is all that a line binds or returns."""
    return node is getattr(statement.node, "value", None)


def _is_read_once(root: BackwardRoot, context: ErrorContext) -> bool:
    """Whether no statement but that of backward reads the variable."""
    called_at = called_root(context)
    if called_at is None or not isinstance(called_at.root, ast.Name):
        return False
    name, own = called_at.root.id, called_at.statement
    readers = [
        one
        for one in statements_of(own.code)
        if one.node is not own.node and any(_reads(part, name) for part in one.parts)
    ]
    return not readers


def _reads(part: ast.AST, name: str) -> bool:
    return isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load)
