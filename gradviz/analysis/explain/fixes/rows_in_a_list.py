"""A list of rows in place of a tensor whose rows are written one by one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import (
    Statement,
    TextChange,
    end_of,
    last_name,
    names_bound,
    start_of,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fixes.rewriting import Rewriting, together
from gradviz.model.events import Write
from gradviz.model.explanation import Fix
from gradviz.model.sentence import say
from gradviz.model.writes import Written

_MADE_BY: Final = frozenset(
    {"empty", "empty_like", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like"}
)
"""Functions of torch that make a tensor which shares no memory."""


class _Row(NamedTuple):
    """``out[:, t]``: one row of a tensor."""

    dim: int
    place: ast.expr


def rows_in_a_list(written: Sequence[Written], context: ErrorContext) -> Fix | None:
    """Keep the rows in a list, and stack them where the whole tensor is read.

    Args:
        written: The first write to each saved tensor.
        context: The error.

    Returns:
        The fix, or ``None`` unless all writes put whole rows into one local tensor.
    """
    targets = [_target(one, context) for one in written]
    names = {name for name, _ in filter(None, targets)}
    if None in targets or len(names) != 1 or targets[0] is None:
        return None
    name, statement = targets[0]
    every = [s for s in statements_of(statement.code) if s.function is statement.function]
    made = [s for s in every if name in names_bound(s)]
    if len(made) != 1 or not _is_made(made[0]):
        return None
    found = list(_rewritten(name, made[0], every))
    dims = {dim for _, dim in found if dim is not None}
    if len(dims) != 1 or any(one is None for one, _ in found):
        return None
    (dim,) = dims
    if not all(_fills_rows(s, name, dim, context) for s in every):
        return None
    changes = [
        replace(one, changes=tuple((at, new.replace(_DIM, _dim(dim))) for at, new in one.changes))
        for one, _ in found
        if one is not None and one.changes
    ]
    does = say("keeps the rows of {} in a list: none is written after it was saved", name)
    node = made[0].node
    assert isinstance(node, ast.Assign)
    unbound = f".unbind({dim})" if dim else ""
    new: tuple[TextChange, ...] = (
        (start_of(node.value), "list("),
        (end_of(node.value), f"{unbound})"),
    )
    return together(does, [Rewriting(made[0], new), *changes])


_DIM: Final = "\0"
"""In a change: where the dimension of the rows is typed."""


def _dim(dim: int) -> str:
    return f", dim={dim}" if dim else ""


def _target(written: Written, context: ErrorContext) -> tuple[str, Statement] | None:
    """The variable whose row a line assigns."""
    site = None if written.event is None else site_of(context.history, *written.event)
    if written.by != "__setitem__" or site is None or not isinstance(site.node, ast.Subscript):
        return None
    is_name = isinstance(site.node.value, ast.Name)
    return (ast.unparse(site.node.value), site.statement) if is_name else None


def _is_made(statement: Statement) -> bool:
    """``out = torch.zeros(…)``."""
    node = statement.node
    value = node.value if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    func = value.func if isinstance(value, ast.Call) else None
    is_torch = isinstance(func, ast.Attribute) and ast.unparse(func.value) == "torch"
    is_name = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    return is_torch and is_name and func is not None and last_name(func) in _MADE_BY


def _rewritten(
    name: str, made: Statement, every: Sequence[Statement]
) -> Iterator[tuple[Rewriting | None, int | None]]:
    """Each line that speaks of the tensor, changed, with the dimension whose rows it is about;
    ``None`` for what a list cannot do."""
    for statement in every:
        parts = [p for p in statement.parts if isinstance(p, ast.Name) and p.id == name]
        if not parts or statement is made:
            continue
        around = {id(c): p for p in statement.parts for c in ast.iter_child_nodes(p)}
        changes: list[TextChange] = []
        dims: set[int] = set()
        for part in parts:
            outer = around.get(id(part))
            row = _row(outer, every) if isinstance(outer, ast.Subscript) else None
            is_row = row is not None and isinstance(outer, ast.Subscript) and outer.value is part
            if is_row and row is not None and isinstance(outer, ast.Subscript):
                dims.add(row.dim)
                if row.dim:
                    changes.append((outer.slice, statement.segment(row.place)))
                is_assigned = isinstance(statement.node, ast.Assign)
                if not isinstance(outer.ctx, ast.Load) and not is_assigned:
                    yield None, None
            elif isinstance(part.ctx, ast.Load) and not _is_written(part, outer):
                changes += [(start_of(part), "torch.stack("), (end_of(part), f"{_DIM})")]
            else:
                yield None, None
        if len(dims) > 1:
            yield None, None
        if changes or dims:
            yield Rewriting(statement, tuple(changes)), next(iter(dims), None)


def _is_written(part: ast.Name, outer: ast.AST | None) -> bool:
    """Whether it is written in another way than row by row, or may be by a function."""
    if isinstance(outer, ast.Subscript) and outer.value is part:
        return not isinstance(outer.ctx, ast.Load)
    return isinstance(outer, ast.Attribute) and outer.attr.endswith("_")


def _row(node: ast.Subscript, every: Sequence[Statement]) -> _Row | None:
    """The row that an index means, if it is one number, alone or beside ``:``."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    numbers = [(dim, one) for dim, one in enumerate(parts) if not isinstance(one, ast.Slice)]
    slices = [one for one in parts if isinstance(one, ast.Slice)]
    if len(numbers) != 1 or any(s.lower or s.upper or s.step for s in slices):
        return None
    dim, index = numbers[0]
    return _Row(dim, index) if _is_number(index, every, 0) else None


def _is_number(node: ast.expr, every: Sequence[Statement], times: int) -> bool:
    """Whether an expression certainly is a whole number."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand, every, times)
    if isinstance(node, ast.BinOp):
        return all(_is_number(one, every, times) for one in (node.left, node.right))
    if isinstance(node, ast.Call):
        return last_name(node.func) == "len"
    if not isinstance(node, ast.Name) or times > 4:
        return False
    bound = [s for s in every if node.id in names_bound(s)]
    return bool(bound) and all(_binds_number(s, node.id, every, times + 1) for s in bound)


def _binds_number(statement: Statement, name: str, every: Sequence[Statement], times: int) -> bool:
    node = statement.node
    if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
        called = last_name(node.iter.func)
        first = node.target.elts[0] if isinstance(node.target, ast.Tuple) else node.target
        is_it = isinstance(first, ast.Name) and first.id == name
        if called in ("reversed",) and node.iter.args and isinstance(node.iter.args[0], ast.Call):
            called = last_name(node.iter.args[0].func)
        is_counter = isinstance(node.target, ast.Tuple) and called == "enumerate"
        return is_it and (is_counter or (called == "range" and first is node.target))
    if isinstance(node, ast.AugAssign):
        return _is_number(node.value, every, times)
    is_plain = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    return is_plain and isinstance(node, ast.Assign) and _is_number(node.value, every, times)


def _fills_rows(statement: Statement, name: str, dim: int, context: ErrorContext) -> bool:
    """Whether all that a line has assigned had the shape and dtype of a row: in a list nothing is
    expanded or converted."""
    node = statement.node
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if not isinstance(target, ast.Subscript) or ast.unparse(target.value) != name:
        return True
    history = context.history
    seen = False
    for place, event in history.placed(Write):
        if event.by != "__setitem__" or len(event.reads) != 2:
            continue
        site = site_of(history, place, event)
        if site is None or site.statement.node is not node:
            continue
        whole, row = (_form(key, context) for key in event.reads)
        if whole is None or row is None:
            return False
        shape = whole[0][:dim] + whole[0][dim + 1 :]
        if (shape, whole[1]) != row:
            return False
        seen = True
    return seen


def _form(key: str, context: ErrorContext) -> tuple[tuple[int, ...], str] | None:
    """Shape and dtype of a tensor object."""
    info = context.history.tensor(key, context.step)
    if info is not None:
        return info.shape, info.dtype
    made = context.history.makers.get(key)
    outputs = {} if made is None else dict(zip(made[1].made, made[1].outputs))
    result = outputs.get(key)
    if result is None or result.shape is None or result.dtype is None:
        return None
    return result.shape, result.dtype
