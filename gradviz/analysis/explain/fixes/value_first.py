"""A line that writes a part of what it reads: the value first, then a copy, then the write."""

from __future__ import annotations

import ast

from gradviz.analysis.code.sites import Site
from gradviz.analysis.code.statements import Statement, statements_of
from gradviz.model.explanation import Fix
from gradviz.model.sentence import Sentence

_NAMES = ("value", "new_value", "updated")
_SUMS = (ast.Add, ast.Sub)


def value_first(site: Site, name: str, does: Sentence) -> Fix | None:
    """``h[i] = f(h[j])`` in three lines, so that ``f`` saves what is not written.

    Args:
        site: The expression that writes.
        name: How the tensor is typed there.
        does: What is gained.
    """
    statement, node = site.statement, site.statement.node
    free = _free(statement)
    if free is None or not statement.is_alone:
        return None
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, sign = node.targets[0], "="
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, _SUMS):
        target, sign = node.target, "+=" if isinstance(node.op, ast.Add) else "-="
    else:
        return None
    if not isinstance(target, ast.Subscript) or _binds(node.value):
        return None
    first = f"{free} = {statement.segment(node.value)}"
    last = f"{statement.segment(target)} {sign} {free}"
    return Fix(does, f"{first}\n{name} = {name}.clone()\n{last}", "instead", statement.at)


def _binds(value: ast.expr) -> bool:
    return any(isinstance(one, ast.NamedExpr) for one in ast.walk(value))


def _free(statement: Statement) -> str | None:
    """A name that the text does not have."""
    lines = statements_of(statement.code)
    names = {n.id for s in lines for n in ast.walk(s.node) if isinstance(n, ast.Name)}
    return next((one for one in _NAMES if one not in names), None)
