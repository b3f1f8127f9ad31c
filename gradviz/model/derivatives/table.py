"""Which rule belongs to which argument of which node."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from gradviz.model.derivatives.case import Case, NotKnownError, Rule, Rules, Shape
from gradviz.model.derivatives.elementwise import ELEMENTWISE
from gradviz.model.derivatives.expression import GRAD, Expression
from gradviz.model.derivatives.movements import MOVEMENTS
from gradviz.model.derivatives.networks import NETWORKS
from gradviz.model.derivatives.products import PRODUCTS
from gradviz.model.derivatives.reductions import REDUCTIONS
from gradviz.model.derivatives.wording import words_of
from gradviz.model.records import Node

_NAME: Final = re.compile(r"(?P<operator>\w+?)Backward\d*(?:_copy)?")
_OF_TORCH: Final = "computed by torch's formula, in the details"
_NOT_KNOWN: Final = "how it is computed is not known"
_BY_HAND: Final[dict[tuple[str, int], Rule]] = {
    ("CopySlices", 0): "grad, 0 where the part was written",
    ("CopySlices", 1): "grad of the part that was written",
    ("CopyBackwards", 0): ELEMENTWISE["Zero"]["self"],
    ("CopyBackwards", 1): GRAD.apply("to input"),
}
"""Nodes that torch's table does not have, by entry."""


@dataclass(frozen=True, slots=True)
class Gradient:
    """How a node computes the gradient of one argument."""

    words: str
    """In one line; of the tree, if there is one."""
    tree: Expression | None = None
    """What the words are made from; ``None`` where they are all there is."""


def gradient_of(node: Node, place: int, shapes: Sequence[Shape | None]) -> Gradient:
    """How a node computes the gradient for an entry of ``next_functions``.

    Args:
        node: The node.
        place: Which entry.
        shapes: Shape of the argument behind each entry, where it is known.

    Examples:
        >>> from gradviz.model import Node, SavedTensor
        >>> saved = (SavedTensor("other", "held"), SavedTensor("self", "none"))
        >>> node = Node("n0", "MulBackward0", (("n1", 0), None), saved, output_shapes=((2, 3),),
        ...             arguments=("self", "other"))
        >>> gradient_of(node, 0, [(2, 3), None]).words
        'grad × other'
        >>> gradient_of(node, 0, [(3,), None]).words
        'grad × other, summed to (3,)'
        >>> gradient_of(Node("n0", "MyFunctionBackward", (None,)), 0, [None]).words
        'computed by MyFunction.backward'
    """
    case = Case(node, place, tuple(shapes))
    rule = _BY_HAND.get((node.name, place)) or rule_of(node.name, case.argument)
    if rule is None or _is_complex(node):
        return Gradient(_otherwise(node))
    try:
        found = rule(case) if callable(rule) else rule
        if isinstance(found, str):
            return Gradient(found)
        tree = case.resolved(found)
        return Gradient(words_of(tree), tree)
    except NotKnownError:
        return Gradient(_otherwise(node))


def shapes_behind(node: Node, node_at: Callable[[str], Node | None]) -> tuple[Shape | None, ...]:
    """Shape of the argument behind each entry of ``next_functions``, where it is known."""
    found: list[Shape | None] = []
    for entry in node.next_functions:
        target = None if entry is None else node_at(entry[0])
        shapes = () if target is None else target.output_shapes
        found.append(shapes[entry[1]] if entry is not None and entry[1] < len(shapes) else None)
    return tuple(found)


@lru_cache(maxsize=1024)
def rule_of(node_name: str, argument: str | None) -> Rule | None:
    """The rule for an argument of a node; ``None`` if there is none."""
    match = _NAME.fullmatch(node_name)
    if match is None or argument is None:
        return None
    return table().get(match["operator"], {}).get(argument.partition("[")[0])


@cache
def table() -> Rules:
    """All rules, by operator and argument."""
    summed = {
        operator: {argument: _summed(rule) for argument, rule in rules.items()}
        for operator, rules in ELEMENTWISE.items()
    }
    return {**summed, **PRODUCTS, **MOVEMENTS, **REDUCTIONS, **NETWORKS}


def _summed(rule: Rule) -> Rule:
    """A rule whose gradient is summed to the shape of its argument, which was broadcast."""
    if isinstance(rule, str):
        return rule
    if isinstance(rule, Expression):
        return rule.apply("to input")

    def summed(case: Case) -> Expression | str:
        found = rule(case)
        return found if isinstance(found, str) else found.apply("to input")

    return summed


def _is_complex(node: Node) -> bool:
    """Whether saved numbers are complex: their conjugates are used then."""
    return any((slot.dtype or "").startswith("complex") for slot in node.saved)


def _otherwise(node: Node) -> str:
    """What is known where no rule is."""
    if node.formula is not None:
        return _OF_TORCH
    operator = node.name.removesuffix("Backward")
    is_function = node.state != "opaque" and operator != node.name and operator.isidentifier()
    return f"computed by {operator}.backward" if is_function else _NOT_KNOWN


__all__ = ["Gradient", "gradient_of", "rule_of", "table"]
