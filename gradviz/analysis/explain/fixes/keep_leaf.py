"""A line that binds the name of a leaf to a new tensor writes the leaf in place instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gradviz.analysis.code.grad_switches import is_switched_off
from gradviz.analysis.code.statements import (
    Statement,
    calls_in,
    last_name,
    loops_around,
    same_block,
    statements_of,
)
from gradviz.analysis.explain.fixes.grad_modes import without_record
from gradviz.analysis.explain.fixes.rewriting import Rewriting, called, together
from gradviz.model.explanation import Fix
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import Sentence, say

_CONVERSIONS: Final = (
    *("bfloat16", "clone", "contiguous", "cpu", "cuda", "double", "float", "half", "reshape"),
    *("t", "to", "type", "type_as", "view"),
)
"""Methods that give the same numbers again, or the same in another form."""
_SIGNS: Final = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/="}


def made_leaf_again(tensor: TensorInfo, statement: Statement | None) -> Iterator[Fix]:
    """A new leaf where a line converts the leaf of the same name: ``w = w.double()``."""
    node = None if statement is None else statement.node
    if statement is None or not isinstance(node, ast.Assign) or any(loops_around(statement)):
        return
    value, name = node.value, ast.unparse(node.targets[0])
    if name != tensor.name or not isinstance(value, ast.Call):
        return
    if not isinstance(value.func, ast.Attribute) or value.func.attr not in _CONVERSIONS:
        return
    if ast.unparse(value.func.value) == name:
        does = say("makes {} a leaf again", name)
        changes = called(value, "detach().requires_grad_()")
        yield Fix(does, statement.edited(changes), "instead", statement.at)


def updated(name: str, statement: Statement) -> Iterator[Fix]:
    """Keep a leaf where a line binds its name to a step of a descent: update it in place, or, if no
    line clears its gradient, bind the name to a new leaf, whose gradient is that of one turn.

    Args:
        name: The leaf.
        statement: The line.
    """
    if is_cleared(statement):
        for fix in update_in_text(name, statement):
            yield with_others(fix, statement)
    elif isinstance(statement.node, ast.Assign):
        beside = [one for one, _ in _updates_beside(statement)]
        changes = [_new_leaf(one) for one in (statement, *beside)]
        anew = together(say("makes a new leaf of each update"), changes)
        if anew is not None:
            yield anew


def is_update(statement: Statement) -> bool:
    """Whether a line makes new values from a gradient: ``[w - lr * w.grad for w in weights]``."""
    return isinstance(statement.node, ast.Assign) and any(
        isinstance(one, ast.Attribute) and one.attr == "grad"
        for one in ast.walk(statement.node.value)
    )


def new_leaves(statement: Statement) -> Fix | None:
    """The new values require grad, where a line makes them without recording, one or a list."""
    value = getattr(statement.node, "value", None)
    made = value.elt if isinstance(value, (ast.ListComp, ast.GeneratorExp)) else value
    if not isinstance(made, ast.BinOp):
        return None
    changes = tuple(called(made, "requires_grad_()"))
    return Rewriting(statement, changes).fix(say("makes new leaves of the updated values"))


def is_cleared(statement: Statement) -> bool:
    """Whether a line of the same text clears a gradient."""
    return any(_clears(one) for one in statements_of(statement.code))


def _clears(statement: Statement) -> bool:
    if calls_in(statement, "zero_grad", "zero_"):
        return True
    targets = statement.node.targets if isinstance(statement.node, ast.Assign) else []
    return any(last_name(target) == "grad" for target in targets)


def _new_leaf(statement: Statement) -> Rewriting | None:
    value = getattr(statement.node, "value", None)
    if not isinstance(value, ast.expr):
        return None
    return Rewriting(statement, tuple(called(value, "detach().requires_grad_()")))


def _updates_beside(statement: Statement) -> Iterator[tuple[Statement, str]]:
    """Other lines of the block that update a leaf so, with its name."""
    for one in statements_of(statement.code):
        if one is statement or not same_block(one, statement):
            continue
        targets = one.node.targets if isinstance(one.node, ast.Assign) else []
        names = [ast.unparse(target) for target in targets]
        if len(names) == 1 and reads_gradient_of(names[0], one):
            yield one, names[0]


def update_in_text(name: str, statement: Statement) -> Iterator[Fix]:
    """Update a leaf in place where a line binds its name to a new tensor, ``w = w - w.grad``.

    Args:
        name: The leaf.
        statement: The line.
    """
    node = statement.node
    if not isinstance(node, ast.Assign) or not statement.is_alone or len(node.targets) != 1:
        return
    if ast.unparse(node.targets[0]) == name:
        changed = _update(name, node.value, statement)
        if not any(is_switched_off(outer) for outer in statement.around):
            changed = without_record(changed)
        does = say("writes the values of {} in place without recording: it stays a leaf", name)
        yield Fix(does, changed, "instead", statement.at)


def with_others(fix: Fix, statement: Statement | None) -> Fix:
    """The fix with the same change of the other lines of the block that update a leaf so."""
    also: list[Fix] = []
    for one, name in () if statement is None else _updates_beside(statement):
        also += update_in_text(name, one)
    return replace(fix, also=(*fix.also, *(replace(one, does=Sentence()) for one in also)))


def reads_gradient_of(name: str, statement: Statement) -> bool:
    """Whether a line computes with ``name.grad``: a step of a descent."""
    value = getattr(statement.node, "value", None)
    return isinstance(value, ast.AST) and any(
        isinstance(one, ast.Attribute) and ast.unparse(one) == f"{name}.grad"
        for one in ast.walk(value)
    )


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
