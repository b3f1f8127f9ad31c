"""Derivatives that are 0 whatever the values are, as torch's own table gives them."""

from __future__ import annotations

import re
from typing import Final

from gradviz.model.records import Node

_ZEROS: Final = re.compile(r"(at::)?zeros(_like|_symint)?\(")
"""A formula of torch's that makes zeros."""
_OF_REAL: Final = "sgn_backward("
"""A formula that gives 0 for real numbers."""
_ORDERS: Final = ("ord", "p")
"""Attributes with the order of a norm: that of order 0 counts."""
_OVERWRITTEN: Final = re.compile(
    r"(Cauchy|Copy|Exponential|Fill|Geometric|LogNormal|Random|Uniform|Zero)Backward\d+"
)
"""Nodes of operations that write new values in place."""


def is_zero_everywhere(node: Node, slot: int, dtype: str) -> bool:
    """Whether a node hands on 0, or nothing, for an input whatever its values are.

    Not where an operation in place overwrites the input, which then is no part of the result.

    Args:
        node: The node.
        slot: Place in its ``next_functions``.
        dtype: Of the gradient that it gets.

    Examples:
        >>> formula = "self: zeros_like(grad)"
        >>> node = Node("n0", "RoundBackward0", (), arguments=("self",), formula=formula)
        >>> is_zero_everywhere(node, 0, "float32")
        True
    """
    argument = node.arguments[slot] if slot < len(node.arguments) else None
    lines = (line.partition(": ") for line in (node.formula or "").split("\n"))
    formula = next((text for names, _, text in lines if argument in names.split(", ")), "")
    attributes = dict(node.attributes)
    if _ZEROS.match(formula):
        has_others = any(one not in (None, argument) for one in node.arguments)
        is_drawn_over = argument == "self" and (has_others or node.name == "NormalBackward0")
        return not (is_drawn_over or _OVERWRITTEN.fullmatch(node.name))
    if formula.startswith(_OF_REAL):
        return not dtype.startswith("complex")
    if formula.startswith("div_tensor"):
        return attributes.get("rounding_mode") is not None
    is_norm = formula.startswith(("linalg_vector_norm_backward(", "norm_backward("))
    return is_norm and any(
        attributes.get(name) in (0, 0.0) for name in _ORDERS if name in attributes
    )
