"""An operator between a NumPy array and a tensor that requires grad."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.code.statements import Statement, is_expression
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.operands import GivenOperand, named
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.torch_messages import operator_sign_in
from gradviz.model.explanation import Cause, Fix
from gradviz.model.sentence import say

_SIGNS: Final[dict[str, type[ast.operator]]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "@": ast.MatMult, "%": ast.Mod,
    "//": ast.FloorDiv, "** or pow()": ast.Pow,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ArrayFirst(Finding):
    """The operator, and its two sides as the line types them."""

    context: ErrorContext
    statement: Statement | None
    array: ast.expr | None
    dtype: str | None
    """How the dtype of the tensor is typed."""


def of_array(context: ErrorContext) -> Iterator[ArrayFirst]:
    """NumPy would compute with a tensor that requires grad."""
    statement, sign = context.statement, operator_sign_in(context.raised.message)
    pair = None if statement is None or sign is None else _sides(statement, sign, context)
    tensor = GivenOperand(None, None, None)
    if statement is not None and pair is not None:
        text = statement.segment(pair[1])
        if is_expression(text):
            tensor = named(text, context)
    if tensor.info is not None and not tensor.info.requires_grad:
        return  # it is refused for another reason: its device
    array = "the array" if pair is None or statement is None else statement.segment(pair[0])
    words = "a tensor" if tensor.name is None else tensor.words
    what = say("the operator {} of {} would make an array of {}", sign or "", array, words)
    yield ArrayFirst(
        history=context.history,
        step=context.step,
        words={"it": words},
        variables=(tensor.name,),
        node=context.node_of(tensor.info),
        causes=(Cause("other", what, context.noticed),),
        targets={"it": [None if tensor.info is None else tensor.info.id]},
        context=context,
        statement=statement,
        array=None if pair is None else pair[0],
        dtype=None if pair is None or statement is None else _dtype_text(pair[1], context),
    )


def _sides(
    statement: Statement, sign: str, context: ErrorContext
) -> tuple[ast.expr, ast.expr] | None:
    """The array and the tensor, if one place in the line can be meant."""
    found = [
        (part.left, part.right)
        for part in statement.parts
        if isinstance(part, ast.BinOp)
        and isinstance(part.op, _SIGNS.get(sign, ()))
        and not context.tensors_read(part.left)
    ]
    return found[0] if len(found) == 1 else None


def _dtype_text(value: ast.expr, context: ErrorContext) -> str | None:
    if isinstance(value, (ast.Name, ast.Attribute)):
        return f"{ast.unparse(value)}.dtype"
    dtype = _dtype(value, context)
    return None if dtype is None else f"torch.{dtype}"


def _dtype(value: ast.expr, context: ErrorContext) -> str | None:
    """The dtype of the known tensors in an expression, if they have one only."""
    paths = (p for p in ast.walk(value) if isinstance(p, (ast.Name, ast.Attribute, ast.Subscript)))
    infos = (context.tensor_named(ast.unparse(path)) for path in paths)
    found = {info.dtype for info in infos if info is not None and info.requires_grad}
    return found.pop() if len(found) == 1 else None


def as_tensor(found: ArrayFirst) -> Iterator[Fix]:
    """A tensor of the array's values."""
    statement, array, dtype = found.statement, found.array, found.dtype
    if statement is None or array is None or dtype is None or statement.is_compound:
        return
    new = f"torch.as_tensor({statement.segment(array)}, dtype={dtype})"
    does = say("computes with torch, which records it")
    yield Fix(does, statement.edited([(array, new)]), "instead", statement.at)
