"""The call of torch that an expression makes by itself, from its text and the variables of its
frame: nothing is evaluated."""

from __future__ import annotations

import ast
import dis
from collections.abc import Mapping
from types import CodeType
from typing import Any, Final

from gradviz.capture.recorder.torch_call import TorchCall
from gradviz.model.events import Position
from gradviz.model.recording import Code

_IN_PLACE: Final[dict[type[ast.operator], str]] = {
    ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_", ast.Pow: "pow_",
}  # fmt: skip
_OF_ONE: Final = frozenset(
    {"detach_", "item", "numpy", "requires_grad_", "resize_", "retain_grad", "tolist"}
)
"""Methods of which only the tensor they are called on matters, whatever that is."""
_UNKNOWN: Final = object()


def direct_call(
    code: Code, position: Position, function: CodeType, last: int, tensors: Mapping[str, Any]
) -> TorchCall | None:
    """The call, with those of its arguments that are variables or constants.

    Args:
        code: The text.
        position: The expression that raised.
        function: The code of the frame that raised.
        last: Its last instruction.
        tensors: The tensors that can be named there, by name.

    Returns:
        ``None`` if the text shows no such call, or if an argument is not known.
    """
    node = _parsed(code, position)
    stores = dis.opname[function.co_code[last]] if 0 <= last < len(function.co_code) else ""
    if isinstance(node, ast.AugAssign):
        name = _IN_PLACE.get(type(node.op))
        return None if name is None else _call(name, [node.target, node.value], {}, tensors)
    value = node.value if isinstance(node, ast.Expr) else None
    if isinstance(value, ast.Attribute) and stores == "STORE_ATTR":
        return _call(value.attr, [value.value], {}, tensors)
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return None
    owner, name = value.func.value, value.func.attr
    keywords = {one.arg: one.value for one in value.keywords if one.arg is not None}
    if len(keywords) < len(value.keywords):
        return None
    if name in _OF_ONE and _value(owner, tensors) is _UNKNOWN:
        return TorchCall(name, (), {})
    is_module = isinstance(owner, ast.Name) and ast.unparse(owner) not in tensors
    given = list(value.args) if is_module else [owner, *value.args]
    return _call(name, given, keywords, tensors)


def _parsed(code: Code, position: Position) -> ast.stmt | None:
    lines = code.text.split("\n")
    row = position.line - code.first_line
    if position.line != position.end_line or not 0 <= row < len(lines):
        return None
    text = lines[row].encode()[position.column : position.end_column]
    try:
        body = ast.parse(text.decode()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return body[0] if len(body) == 1 else None


def _call(
    name: str, given: list[ast.expr], keywords: Mapping[str, ast.expr], tensors: Mapping[str, Any]
) -> TorchCall | None:
    values = [_value(one, tensors) for one in given]
    named = {key: _value(one, tensors) for key, one in keywords.items()}
    if any(one is _UNKNOWN for one in (*values, *named.values())):
        return None
    return TorchCall(name, tuple(values), named)


def _value(node: ast.expr, tensors: Mapping[str, Any]) -> Any:
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        return tensors.get(ast.unparse(node), _UNKNOWN)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _UNKNOWN
