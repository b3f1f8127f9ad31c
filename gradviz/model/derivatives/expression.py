"""The gradient of an argument as a tree: what it is computed from, and how.

A tree is data. Its text, the numbers of a caption and the comparison with torch in the tests are
all made from the same tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Option: TypeAlias = "int | float | str | bool | None | tuple[Option, ...]"
Operand: TypeAlias = "Expression | int | float"

Leaf: TypeAlias = Literal["grad", "named", "saved", "number"]
Arithmetic: TypeAlias = Literal[
    "neg", "add", "sub", "mul", "div", "pow", "maximum", "function", "where"
]
"""Number by number, with broadcasting."""
Comparison: TypeAlias = Literal[
    "greater", "less", "over limit", "under limit", "at least", "at most", "equal", "and", "not"
]
Product: TypeAlias = Literal["matmul", "transposed", "outer"]
Reduction: TypeAlias = Literal[
    "sum", "mean", "count", "product of others", "sum onward", "to input", "summed to"
]
Movement: TypeAlias = Literal[
    "expanded",
    "reshaped",
    "permuted",
    "swapped",
    "with dims",
    "flipped",
    "rolled",
    "lower",
    "upper",
    "part",
    "placed",
    "on diagonal",
    "gathered",
    "scattered",
    "added at",
    "of target",
    "joined",
    "stacked",
]
"""Where numbers stand."""
Operator: TypeAlias = Arithmetic | Comparison | Product | Reduction | Movement | Literal["let"]
"""What can be done with operands; :mod:`~gradviz.model.derivatives.wording` has the words."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A leaf or an operation of a tree.

    Leaves are ``grad`` (the gradient of an output, its option), ``saved`` (a saved tensor by its
    name) and ``number``. In rules for all nodes of a kind, ``named`` is a saved tensor or number,
    whichever the node has.
    """

    operator: Leaf | Operator
    operands: tuple[Expression, ...] = ()
    options: tuple[Option, ...] = ()

    def __add__(self, other: Operand) -> Expression:
        return Expression("add", (self, expression(other)))

    def __radd__(self, other: Operand) -> Expression:
        return expression(other) + self

    def __sub__(self, other: Operand) -> Expression:
        return Expression("sub", (self, expression(other)))

    def __rsub__(self, other: Operand) -> Expression:
        return expression(other) - self

    def __mul__(self, other: Operand) -> Expression:
        return Expression("mul", (self, expression(other)))

    def __rmul__(self, other: Operand) -> Expression:
        return expression(other) * self

    def __truediv__(self, other: Operand) -> Expression:
        return Expression("div", (self, expression(other)))

    def __rtruediv__(self, other: Operand) -> Expression:
        return expression(other) / self

    def __pow__(self, other: Operand) -> Expression:
        return Expression("pow", (self, expression(other)))

    def __neg__(self) -> Expression:
        return Expression("neg", (self,))

    def __matmul__(self, other: Expression) -> Expression:
        return Expression("matmul", (self, other))

    def above(self, other: Operand) -> Expression:
        """Where it is greater."""
        return Expression("greater", (self, expression(other)))

    def below(self, other: Operand) -> Expression:
        """Where it is less."""
        return Expression("less", (self, expression(other)))

    def at_least(self, other: Operand) -> Expression:
        """Where it is not less."""
        return Expression("at least", (self, expression(other)))

    def over_limit(self, limit: Operand) -> Expression:
        """Where it is greater; what holds at the limit itself differs between releases of torch."""
        return Expression("over limit", (self, expression(limit)))

    def under_limit(self, limit: Operand) -> Expression:
        """Where it is less; what holds at the limit itself differs between releases of torch."""
        return Expression("under limit", (self, expression(limit)))

    def at_most(self, other: Operand) -> Expression:
        """Where it is not greater."""
        return Expression("at most", (self, expression(other)))

    def __and__(self, other: Expression) -> Expression:
        return Expression("and", (self, other))

    def __invert__(self) -> Expression:
        return Expression("not", (self,))

    def equals(self, other: Operand) -> Expression:
        """Where both have the same number."""
        return Expression("equal", (self, expression(other)))

    @property
    def mT(self) -> Expression:  # noqa: N802 (the name that torch uses)
        """With its last two dimensions swapped."""
        return Expression("transposed", (self,))

    def apply(self, operator: Operator, *options: Option) -> Expression:
        """An operation on this expression alone."""
        return Expression(operator, (self,), options)

    def map(self, change: Callable[[Expression], Expression]) -> Expression:
        """The tree with ``change`` applied to every part, operands first."""
        operands = tuple([part.map(change) for part in self.operands])
        return change(Expression(self.operator, operands, self.options) if operands else self)


def expression(value: Operand) -> Expression:
    """A number as an expression; an expression as it is."""
    return value if isinstance(value, Expression) else Expression("number", options=(value,))


def named(name: str) -> Expression:
    """A saved tensor or saved number of the node."""
    return Expression("named", options=(name,))


def saved(name: str) -> Expression:
    """A saved tensor of the node."""
    return Expression("saved", options=(name,))


def grad_of(output: int) -> Expression:
    """The gradient of one of several outputs."""
    return Expression("grad", options=(output,))


def function(name: str, operand: Expression) -> Expression:
    """A function of one number, such as ``cos``."""
    return Expression("function", (operand,), (name,))


def where(condition: Expression, yes: Operand, no: Operand) -> Expression:
    """One of two, number by number."""
    return Expression("where", (condition, expression(yes), expression(no)))


def maximum(one: Expression, other: Operand) -> Expression:
    """The larger of two, number by number."""
    return Expression("maximum", (one, expression(other)))


def let(name: str, value: Expression) -> Expression:
    """A part of an expression that its text writes once, as ``name``."""
    return Expression("let", (value,), (name,))


GRAD: Final = Expression("grad")
"""The gradient of the only output, or of the first that is differentiable."""
