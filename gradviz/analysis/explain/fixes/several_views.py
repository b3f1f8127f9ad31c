"""Fixes for a write to one of several views that one call returned: ``i, f = x.chunk(2)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.analysis.code.rebind_safety import has_other_name, may_leave
from gradviz.analysis.code.sites import Site
from gradviz.analysis.code.statements import (
    Statement,
    is_named,
    is_read_later,
    last_name,
    names_bound,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.operands import named
from gradviz.analysis.explain.fixes.out_of_place import out_of_place
from gradviz.analysis.explain.fixes.rewriting import Rewriting, together
from gradviz.model.explanation import Fix
from gradviz.model.sentence import Sentence, say


def one_at_a_time(
    written: str | None, source: str | None, statement: Statement, context: ErrorContext
) -> Fix | None:
    """A loop over views that takes one view of the source at a time, so that it is changed too."""
    for outer in reversed(statement.around):
        if not isinstance(outer, ast.For) or ast.unparse(outer.target) != written:
            continue
        views = None if source is None else _one_by_one(outer.iter, source)
        if source is None or views is None:
            return None
        head = Statement(statement.code, outer, ())
        code = head.edited([(outer.iter, views)])
        term = named(source, context).words
        does = say("makes one view of {0} at a time; the write changes {0} too", term)
        return Fix(does, code, "instead", head.at)
    return None


def _one_by_one(views: ast.expr, source: str) -> str | None:
    """Single views of a tensor in place of those that iteration or ``unbind`` makes at once."""
    if ast.unparse(views) == source:
        return f"({source}[i] for i in range(len({source})))"
    if not isinstance(views, ast.Call) or last_name(views.func) != "unbind":
        return None
    func = views.func
    is_method = isinstance(func, ast.Attribute) and ast.unparse(func.value) == source
    given = [*views.args, *(k.value for k in views.keywords if k.arg == "dim")]
    if not is_method and (not given or ast.unparse(given.pop(0)) != source):
        return None
    if len(given) > 1 or len(views.keywords) > 1:
        return None
    dim = ast.unparse(given[0]) if given else "0"
    if dim == "0":
        return f"({source}[i] for i in range(len({source})))"
    is_number = dim.lstrip("-").isdigit()
    return (
        f"({source}.select({dim}, i) for i in range({source}.shape[{dim}]))" if is_number else None
    )


def all_out_of_place(written: str | None, source: str | None, statement: Statement) -> Fix | None:
    """New tensors for every view of the call that a function writes.

    Nothing is offered where the source, or another name of a view, is read later: it would not
    have the new values.
    """
    if written is None or not written.isidentifier():
        return None
    bound = _bound(written, statement)
    if bound is None or (source is not None and is_read_later(source, bound)):
        return None
    views = [name for name in names_bound(bound) if not has_other_name(statement, name)]
    found: list[Rewriting | None] = []
    for one in statements_of(statement.code):
        if one.line >= bound.line and not one.is_compound:
            found += _rewritten(one, views)
    return together(_does(found), found)


def _does(found: list[Rewriting | None]) -> Sentence:
    if any(one is not None and one.copied for one in found):
        return say("continues with a copy, which may be modified")
    return say("makes a new tensor" if len(found) == 1 else "makes new tensors")


def _bound(name: str, statement: Statement) -> Statement | None:
    """The line that gives the views their names."""
    every = [s for s in statements_of(statement.code) if s.line < statement.line]
    bound = [s for s in every if name in names_bound(s)]
    last = bound[-1] if bound else None
    if last is None or not isinstance(last.node, ast.Assign) or len(last.node.targets) != 1:
        return None
    return last if isinstance(last.node.targets[0], (ast.Tuple, ast.List)) else None


def _rewritten(statement: Statement, views: list[str]) -> Iterator[Rewriting | None]:
    """The writes of a line to these variables, each as an operation that makes a new tensor."""
    node = statement.node
    if isinstance(node, ast.AugAssign):
        if isinstance(node.target, ast.Name) and node.target.id in views:
            yield out_of_place(Site(statement, node), "", node.target.id)
        return
    for part in statement.parts:
        func = part.func if isinstance(part, ast.Call) else None
        if not isinstance(part, ast.Call) or not isinstance(func, ast.Attribute):
            continue
        name = next((one for one in views if is_named(func.value, one)), None)
        if name is not None and func.attr.endswith("_") and not func.attr.endswith("__"):
            is_read = not may_leave(statement, name)
            yield out_of_place(Site(statement, part), func.attr, name, is_read)
