"""A line that binds the name of a leaf to a new tensor writes the leaf in place instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from gradviz.analysis.code.statements import Statement
from gradviz.analysis.explain.fixes.grad_modes import is_switched_off, without_record
from gradviz.model.explanation import Fix
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import say

_SIGNS: Final = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/="}


def written_in_place(
    leaf: TensorInfo, tensor: TensorInfo, statement: Statement | None
) -> Iterator[Fix]:
    """Update the values of a leaf where a line made a new tensor from it.

    Args:
        leaf: The leaf that had the name before.
        tensor: The new tensor.
        statement: The line that made it.
    """
    node = None if statement is None else statement.node
    if statement is None or not isinstance(node, ast.Assign) or not statement.is_alone:
        return
    target = node.targets[0]
    if len(node.targets) != 1 or not isinstance(target, (ast.Name, ast.Attribute)):
        return
    name = ast.unparse(target)
    if name != tensor.name or (leaf.shape, leaf.dtype) != (tensor.shape, tensor.dtype):
        return
    if name not in {ast.unparse(one) for one in ast.walk(node.value) if isinstance(one, ast.expr)}:
        return  # it is another value, not an update
    changed = _update(name, node.value, statement)
    is_off = any(is_switched_off(outer) for outer in statement.around)
    if not is_off:
        changed = without_record(changed)
    does = say("writes the values of {} in place without recording: it stays a leaf", name)
    yield Fix(does, changed, "instead", statement.at)


def _update(name: str, value: ast.expr, statement: Statement) -> str:
    """``x -= 0.1 * x.grad``, or ``x.copy_(…)`` where the line has another form."""
    if isinstance(value, ast.BinOp) and ast.unparse(value.left) == name:
        sign = _SIGNS.get(type(value.op))
        if sign is not None:
            right = statement.segment(value.right)
            return f"{name} {sign} ({right})" if "\n" in right else f"{name} {sign} {right}"
    return f"{name}.copy_({statement.segment(value)})"
