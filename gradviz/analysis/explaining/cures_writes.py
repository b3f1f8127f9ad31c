"""Changes to a line that writes in place, after which the old value is still there."""

from __future__ import annotations

import ast
from typing import Final, TypeAlias

from gradviz.analysis.explaining.statements import (
    Place,
    Span,
    Statement,
    end_of,
    is_expression,
    last_name,
    start_of,
)
from gradviz.model.explanation import Cure

NEW_OF: Final = {"zero_": "torch.zeros_like({0})", "fill_": "torch.full_like({0}, {1})"}
"""New tensors in place of writes that have no other form."""
NO_OTHER_FORM: Final = frozenset(
    {
        "as_strided_", "bernoulli_", "cauchy_", "copy_", "detach_", "exponential_", "geometric_",
        "index_fill_", "log_normal_", "normal_", "random_", "requires_grad_", "resize_",
        "resize_as_", "set_", "share_memory_", "uniform_",
    }
)  # fmt: skip
"""Writes in place without a method of the same name that makes a new tensor."""
_SIGNS: Final = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@",
    ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip


def out_of_place(statement: Statement, by: str) -> str | None:
    """The statement with a write replaced by an operation that makes a new tensor.

    Args:
        statement: A line that writes in place.
        by: Name of the function that wrote.
    """
    node = statement.node
    if isinstance(node, ast.AugAssign):
        return _augmented(statement, node)
    call = _writing_call(statement, by)
    if call is None:
        return None
    if any(k.arg == "inplace" for k in call.keywords) or not by.endswith("_"):
        return _without_inplace(statement, call)
    if not isinstance(node, ast.Expr):
        if by in NO_OTHER_FORM or by in NEW_OF:
            return None
        return _renamed(statement, call)
    if node.value is not call:
        return None
    target, arguments = _parts(statement, call)
    if target is None or by in NO_OTHER_FORM:
        return None
    if by in NEW_OF:
        return (
            f"{target} = {NEW_OF[by].format(target, *arguments)}" if _fits(by, arguments) else None
        )
    new = _renamed(statement, call)
    return None if new is None else f"{target} = {new}"


def is_bare_write(statement: Statement) -> bool:
    """Whether a statement does nothing but write: its result is not used."""
    return isinstance(statement.node, (ast.AugAssign, ast.Expr))


def written_expression(statement: Statement, by: str) -> str | None:
    """What a statement writes to, as it stands there: ``"h"`` of ``h.add_(1)``, ``"h[0]"``."""
    node = statement.node
    if isinstance(node, ast.AugAssign):
        return statement.segment(node.target)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return statement.segment(node.targets[0])
    call = _writing_call(statement, by)
    return None if call is None else _parts(statement, call)[0]


def clone_before(name: str, line: int, does: str = "") -> Cure:
    """Go on with a copy: what was saved is not touched."""
    does = does or f"goes on with a copy of {name}; what was saved stays as it is"
    return Cure(does, f"{name} = {name}.clone()", "before", line)


Edit: TypeAlias = "tuple[ast.AST | Place, str]"
"""A part of a statement, or a place in it, and the text that goes there."""


def keep_a_copy(statement: Statement, name: str | None, is_result: bool) -> list[Edit]:
    """Changes to the statement that saved: a copy is saved, or a copy handed on.

    Args:
        statement: The line at which the tensor was saved.
        name: The variable that was saved.
        is_result: Whether the operation saved its own result.
    """
    node = statement.node
    if name is None:
        return []
    if is_result:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            return []
        if statement.segment(node.targets[0]) != name:
            return []
        return _called_on(node.value, "clone()")
    if statement.is_compound or isinstance(node, ast.AugAssign):
        return []
    return [
        (part, f"{name}.clone()")
        for part in statement.parts
        if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript))
        and isinstance(part.ctx, ast.Load)
        and statement.segment(part) == name
    ]


def copy_of_detached(statement: Statement) -> str | None:
    """The statement with ``.detach()`` followed by ``.clone()``."""
    found = [
        p
        for p in statement.parts
        if isinstance(p, ast.Call) and isinstance(p.func, ast.Attribute) and p.func.attr == "detach"
    ]
    return None if len(found) != 1 else statement.edited([(end_of(found[0]), ".clone()")])


def _augmented(statement: Statement, node: ast.AugAssign) -> str | None:
    if isinstance(node.target, ast.Subscript) or type(node.op) not in _SIGNS:
        return None
    target, value = statement.segment(node.target), statement.segment(node.value)
    if not isinstance(node.value, (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript)):
        value = f"({value})"
    return f"{target} = {target} {_SIGNS[type(node.op)]} {value}"


def _writing_call(statement: Statement, by: str) -> ast.Call | None:
    names = {by, by.rstrip("_")}
    found = [
        part
        for part in statement.parts
        if isinstance(part, ast.Call)
        and last_name(part.func) in names
        and (last_name(part.func).endswith("_") or any(k.arg == "inplace" for k in part.keywords))
    ]
    return found[0] if len(found) == 1 else None


def _parts(statement: Statement, call: ast.Call) -> tuple[str | None, list[str]]:
    """Variable that a call writes to, and its other arguments."""
    arguments = [statement.segment(a) for a in call.args]
    if isinstance(call.func, ast.Attribute) and not _is_function(call.func.value):
        return _variable(statement.segment(call.func.value)), arguments
    return _variable(arguments[0] if arguments else ""), arguments[1:]


def _is_function(owner: ast.expr) -> bool:
    """Whether ``owner.add_`` is a function of a module rather than a method of a tensor."""
    return isinstance(owner, (ast.Name, ast.Attribute)) and last_name(owner) in (
        "torch", "F", "functional", "init", "nn",
    )  # fmt: skip


def _variable(text: str) -> str | None:
    return text if text and is_expression(text) and not text.endswith("]") else None


def _fits(by: str, arguments: list[str]) -> bool:
    return len(arguments) == NEW_OF[by].count("{") - 1


def _renamed(statement: Statement, call: ast.Call) -> str | None:
    """The call, or the statement it is part of, with the last underscore dropped."""
    row, column = end_of(call.func)
    return statement.edited([(Span((row, column - 1), (row, column)), "")])


def _without_inplace(statement: Statement, call: ast.Call) -> str | None:
    keyword = next((k for k in call.keywords if k.arg == "inplace"), None)
    if keyword is None:
        return None
    new = statement.edited([(keyword.value, "False")])
    if isinstance(statement.node, ast.Expr) and statement.node.value is call and call.args:
        target = _variable(statement.segment(call.args[0]))
        return None if target is None else f"{target} = {new}"
    return new


def _called_on(value: ast.expr, method: str) -> list[Edit]:
    """Changes after which a method is called on a value."""
    if isinstance(value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript)):
        return [(end_of(value), f".{method}")]
    return [(start_of(value), "("), (end_of(value), f").{method}")]
