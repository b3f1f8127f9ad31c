"""What a rule may ask about the node whose gradient it describes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gradviz.model.derivatives.expression import Expression, expression, saved
from gradviz.model.records import Attribute, Node

Shape: TypeAlias = tuple[int, ...]


class NotKnownError(Exception):
    """A rule needs what cannot be seen here; its words are said instead."""


@dataclass(frozen=True, slots=True)
class Case:
    """One argument of one node."""

    node: Node
    place: int
    """Entry of ``next_functions``."""
    shapes: tuple[Shape | None, ...]
    """Shape of the argument behind each entry, where it is known."""

    def attribute(self, name: str, default: Attribute = None) -> Attribute:
        """A saved number, size or option."""
        return dict(self.node.attributes).get(name, default)

    def number(self, name: str) -> int:
        """A saved whole number."""
        value = self.attribute(name)
        if not isinstance(value, int):
            raise NotKnownError
        return value

    def sizes(self, name: str) -> Shape:
        """A saved shape or list of dimensions; one number is a list of one."""
        value = self.attribute(name)
        values = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(size, int) for size in values):
            raise NotKnownError
        return values  # type: ignore[return-value]

    def has(self, name: str) -> bool:
        """Whether the node saved something by this name, be it freed by now."""
        slots = (slot for slot in self.node.saved if slot.state != "none")
        found = any(slot.name.partition("[")[0] == name for slot in slots)
        return found or self.attribute(name) is not None

    @property
    def shape(self) -> Shape:
        """Shape of the argument, and so of its gradient."""
        shape = self.shapes[self.place] if self.place < len(self.shapes) else None
        if shape is None or -1 in shape:
            raise NotKnownError
        return shape

    @property
    def grad_shape(self) -> Shape:
        """Shape of the gradient that arrives."""
        shape = self.node.output_shapes[0] if self.node.output_shapes else None
        if shape is None or -1 in shape:
            raise NotKnownError
        return shape

    def shape_of(self, name: str) -> Shape | None:
        """Shape of a saved tensor; ``None`` once it is freed."""
        return next((slot.shape for slot in self.node.saved if slot.name == name), None)

    @property
    def index(self) -> int:
        """Place of the argument in its list: 1 for ``tensors[1]``."""
        name = self.argument or ""
        return int(name.partition("[")[2].rstrip("]") or 0)

    @property
    def argument(self) -> str | None:
        """Name of the argument, where it is known."""
        names = self.node.arguments
        return names[self.place] if self.place < len(names) else None

    def resolved(self, tree: Expression) -> Expression:
        """The tree for this node: saved numbers in place of their names, and simpler by that."""
        return tree.map(self._resolve)

    def _resolve(self, part: Expression) -> Expression:
        if part.operator == "named":
            return self._named(str(part.options[0]))
        if part.operator == "to input":
            (operand,) = part.operands
            # F5.20: the engine sums, so no formula of torch says it.
            is_same = operand.operator == "number" or self.shape == self.grad_shape
            return operand if is_same else operand.apply("summed to", self.shape)
        return simpler(part)

    def _named(self, name: str) -> Expression:
        if any(slot.name == name and slot.state != "none" for slot in self.node.saved):
            return saved(name)
        value = self.attribute(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise NotKnownError
        return expression(value)


Rule: TypeAlias = "Expression | str | Callable[[Case], Expression | str]"
"""A tree, words where there is none, or a function that chooses by what a node saved."""
Rules: TypeAlias = "dict[str, Mapping[str, Rule]]"
"""Rules by operator, such as ``Mul`` of ``MulBackward0``, and by argument."""


def dim_of(dim: int, ndim: int) -> int:
    """A dimension counted from the first."""
    return dim + ndim if dim < 0 else dim


def all_dims(dims: Sequence[int], ndim: int) -> tuple[int, ...]:
    """Dimensions counted from the first; all of them where none is named."""
    return tuple(sorted(dim_of(dim, ndim) for dim in dims)) or tuple(range(ndim))


def simpler(part: Expression) -> Expression:
    """An operation without what changes nothing: ``× 1``, ``/ 1``, a power of 1."""
    if part.operator not in ("mul", "div", "pow", "add", "sub") or len(part.operands) != 2:
        return part
    left, right = part.operands
    a, b = (_number(one) for one in (left, right))
    if a is not None and b is not None and part.operator in ("add", "sub", "mul"):
        values = {"add": a + b, "sub": a - b, "mul": a * b}
        return expression(values[part.operator])
    neutral = 0 if part.operator in ("add", "sub") else 1
    if b == neutral:
        return left
    return right if a == neutral and part.operator in ("add", "mul") else part


def _number(part: Expression) -> int | float | None:
    value = part.options[0] if part.operator == "number" else None
    return value if isinstance(value, (int, float)) else None
