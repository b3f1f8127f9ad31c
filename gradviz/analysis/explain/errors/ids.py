"""Whether a tensor of integers holds ids, which select rows, or numbers to compute with."""

from __future__ import annotations

import ast
import builtins
from typing import Final, Literal

from gradviz.analysis.code.statements import (
    Statement,
    calls_in,
    code_of,
    is_named,
    last_name,
    statements_of,
    times_read,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.operands import GivenOperand
from gradviz.analysis.explain.errors.optimizer_given import parameters_under
from gradviz.analysis.explain.torch_names import SELECTING
from gradviz.model.events import Operation

Use = Literal["ids", "module", ""]
"""It selects rows; it goes into a module or function as it is; neither."""
_MODULES: Final = ("Embedding", "EmbeddingBag")


def use_of(name: str | None, one: GivenOperand, context: ErrorContext) -> Use:
    """What the recorded code does with a tensor of integers.

    Args:
        name: How it is typed in the line that raised.
        one: The tensor.
        context: The error.
    """
    for _, event in context.history.events(Operation, context.step):
        if one.key is not None and one.key in event.reads[1:] and event.name in SELECTING:
            return "ids"
    code = code_of(context.recording, context.noticed)
    if name is None or code is None:
        return ""
    found = {_use_in(other, name, one, context) for other in statements_of(code)}
    return "ids" if "ids" in found else "module" if "module" in found else ""


def _use_in(statement: Statement, name: str, one: GivenOperand, context: ErrorContext) -> Use:
    found: Use = ""
    for part in statement.parts:
        if isinstance(part, ast.Subscript) and times_read(part.slice, name):
            return "ids"
        if not isinstance(part, ast.Call) or not any(is_named(given, name) for given in part.args):
            continue
        if last_name(part.func) in SELECTING or _is_embedding(part.func, context):
            return "ids"
        if not _is_known_function(part.func, context):
            use = _use_in_module(part.func, one, context)
            if use == "ids":
                return use
            found = found or use
    return found


def _use_in_module(function: ast.expr, one: GivenOperand, context: ErrorContext) -> Use:
    """What a module does with it: a linear layer multiplies the last dimension, and would not
    take another size; a module with one weight that takes it as it is selects rows."""
    weights = [info for info in parameters_under(function, context) if len(info.shape) == 2]
    size = None if not one.sizes else one.sizes[-1]
    is_only = len(parameters_under(function, context)) == 1
    if weights and size is not None and weights[0].shape[1] == size:
        return "module" if is_only else ""  # an embedding may be as wide
    return "ids" if weights and is_only and size is not None else "module"


def _is_known_function(function: ast.expr, context: ErrorContext) -> bool:
    """Whether it is a function of Python or torch, or a method of a tensor."""
    if isinstance(function, ast.Name):
        return hasattr(builtins, function.id)
    node = function
    while isinstance(node, ast.Attribute):
        if context.tensor_named(ast.unparse(node.value)) is not None:
            return True
        node = node.value
    return isinstance(node, ast.Name) and node.id in ("F", "math", "nn", "np", "numpy", "torch")


def _is_embedding(function: ast.expr, context: ErrorContext) -> bool:
    """Whether the text binds the name of what is called to an embedding."""
    text = ast.unparse(function)
    for code in context.recording.codes:
        for one in statements_of(code):
            node = one.node
            targets = node.targets if isinstance(node, ast.Assign) else []
            if any(ast.unparse(t) == text for t in targets) and calls_in(one, *_MODULES):
                return True
    return False
