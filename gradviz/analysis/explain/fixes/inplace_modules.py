"""Activations of torch that were made with ``inplace=True``, as the recorded code shows."""

from __future__ import annotations

import ast
from typing import Final

from gradviz.analysis.code.statements import (
    Statement,
    expression_of,
    is_expression,
    last_name,
    names_bound,
    statements_of,
)
from gradviz.model.explanation import Fix
from gradviz.model.sentence import say

_CLASSES: Final = frozenset(
    {
        "AlphaDropout", "CELU", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "ELU",
        "FeatureAlphaDropout", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "Mish", "RReLU",
        "ReLU", "ReLU6", "SELU", "SiLU", "Threshold",
    }
)  # fmt: skip
"""Classes of ``torch.nn`` whose ``inplace`` may be switched off at any time."""

_ACTIVATIONS: Final = frozenset(
    {
        "alpha_dropout_", "celu_", "dropout_", "elu_", "feature_alpha_dropout_",
        "feature_dropout_", "hardsigmoid_", "hardswish_", "hardtanh_", "leaky_relu_", "mish_",
        "relu6_", "relu_", "rrelu_", "selu_", "silu_", "threshold_",
    }
)  # fmt: skip
"""What these call; other writes inside of a module are of the user's own code."""


def is_activation(by: str) -> bool:
    """Whether a function that wrote is one that activations of torch call."""
    return by.rstrip("_") + "_" in _ACTIVATIONS


def not_in_place(module: str, statement: Statement) -> Fix | None:
    """Switch ``inplace`` of a module off before a line.

    Args:
        module: Path of the module that wrote.
        statement: The line.

    Returns:
        The fix, or ``None`` unless the code shows that it is one of torch's modules, in place.
    """
    path = expression_of(module)
    made = _made(module, statement)
    if made is None or not is_expression(path) or not _is_in_place(made):
        return None
    if any(isinstance(one, ast.FunctionDef) for one in statement.around):
        return None
    return switched_off(module, statement)


def switched_off(module: str, statement: Statement) -> Fix | None:
    """Switch ``inplace`` of a module of torch off before a line of the code that has its name."""
    path = expression_of(module)
    if not is_expression(path) or not statement.is_first:
        return None
    does = say("{} makes a new tensor; better: create it with inplace=False", path)
    return Fix(does, f"{path}.inplace = False", "before", statement.at)


def _made(module: str, statement: Statement) -> ast.expr | None:
    """The call that made a module, alone or as part of ``nn.Sequential(...)``."""
    name, *path = module.split(".")
    found: ast.expr | None = None
    for other in statements_of(statement.code):
        stored = names_bound(other)
        if name not in stored:
            continue
        if found is not None or not isinstance(other.node, ast.Assign) or stored != [name]:
            return None
        found = other.node.value
    for place in path:
        if not isinstance(found, ast.Call) or not _is_of_nn(found, {"Sequential"}):
            return None
        if any(isinstance(one, ast.Starred) for one in found.args) or not place.isdigit():
            return None
        found = found.args[int(place)] if int(place) < len(found.args) else None
    return found


def _is_in_place(made: ast.expr) -> bool:
    if not isinstance(made, ast.Call) or not _is_of_nn(made, _CLASSES):
        return False
    given = [keyword.value for keyword in made.keywords if keyword.arg == "inplace"]
    return len(given) == 1 and isinstance(given[0], ast.Constant) and given[0].value is True


def _is_of_nn(call: ast.Call, names: frozenset[str] | set[str]) -> bool:
    """Whether it makes a module of ``nn`` or ``torch.nn``."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return (
        owner is not None
        and ast.unparse(owner) in ("nn", "torch.nn")
        and (last_name(call.func) in names)
    )
