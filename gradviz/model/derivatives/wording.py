"""The text of an expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gradviz.model.derivatives.expression import Expression
from gradviz.model.formatting import number, shape

PHRASE, CHOICE, BOTH, COMPARISON, SUM, PRODUCT, SIGN, POWER, ATOM = range(9)
"""How tightly an operation binds its operands, loosest first."""

_INFIX: Final = {
    "add": ("+", SUM),
    "sub": ("-", SUM),
    "mul": ("×", PRODUCT),
    "div": ("/", PRODUCT),
    "matmul": ("@", PRODUCT),
    "greater": (">", COMPARISON),
    "less": ("<", COMPARISON),
    "over limit": (">", COMPARISON),
    "under limit": ("<", COMPARISON),
    "at least": ("≥", COMPARISON),
    "at most": ("≤", COMPARISON),
    "equal": ("=", COMPARISON),
}
_CALLED: Final = {"maximum": "max", "outer": "outer"}
_REDUCED: Final = {"sum": "sum", "mean": "mean", "count": "count"}
_MIRRORED: Final = {"greater": "<", "at least": "≤", "over limit": "<"}
_BELOW: Final = ("less", "at most", "under limit")
_LIMITS: Final = ("over limit", "under limit")
_RAISED: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")

Written = tuple[str, int]
"""A text, and how tightly it binds."""


def words_of(tree: Expression, leaf: Callable[[Expression], str] | None = None) -> str:
    """An expression in one line.

    Args:
        tree: The expression.
        leaf: The text of a gradient or saved tensor; its name unless given.

    Examples:
        >>> from gradviz.model.derivatives.expression import GRAD, saved, where
        >>> words_of(GRAD * (1 - saved("result") ** 2))
        'grad × (1 - result²)'
        >>> words_of(where(saved("result").above(0), GRAD, 0).apply("summed to", (3,)))
        '(grad where result > 0, else 0), summed to (3,)'
        >>> words_of(GRAD @ saved("mat2").mT, lambda part: "[[1.0]]")
        '[[1.0]] @ [[1.0]]ᵀ'
    """
    return _written(tree, leaf or name_of)[0]


def calculation_of(
    tree: Expression, leaf: Callable[[Expression], str], result: str, is_exact: bool = True
) -> str:
    """An expression with the numbers of its leaves, and what it gives.

    Args:
        tree: The expression.
        leaf: The text of a gradient or saved tensor.
        result: What it gives.
        is_exact: Whether the numbers as they are written give just that.

    Examples:
        >>> from gradviz.model.derivatives.expression import GRAD, saved
        >>> calculation_of(GRAD * saved("other"), lambda part: "2.0", "4.0")
        '2.0 × 2.0 = 4.0'
        >>> calculation_of(GRAD * saved("other"), lambda part: "1.414", "2.0", is_exact=False)
        '1.414 × 1.414 ≈ 2.0'
        >>> calculation_of(GRAD.apply("expanded", (2,), (), True), lambda part: "1.0", "[1.0, 1.0]")
        '1.0 expanded to (2,): [1.0, 1.0]'
    """
    text, binds = _written(tree, leaf)
    if not is_exact:
        return f"{text} ≈ {result}"
    return f"{text} = {result}" if binds > CHOICE else f"{text}: {result}"


def _written(tree: Expression, leaf: Callable[[Expression], str]) -> Written:
    writer = _Writer(leaf)
    text, binds = writer.write(tree)
    named = "; ".join(f"{name} = {words}" for name, words in writer.named.items())
    return (f"{text}, with {named}", PHRASE) if named else (text, binds)


def name_of(part: Expression) -> str:
    """The name of a gradient or saved tensor."""
    if part.operator == "grad":
        return f"grads[{part.options[0]}]" if part.options else "grad"
    return str(part.options[0])


class _Writer:
    def __init__(self, leaf: Callable[[Expression], str]) -> None:
        self._leaf = leaf
        self.named: dict[str, str] = {}

    def write(self, part: Expression) -> Written:
        kind = part.operator
        if kind in ("grad", "saved", "named"):
            text = self._leaf(part)
            return text, SIGN if text.startswith("-") else ATOM
        if kind == "number":
            return _number(part.options[0])
        if kind == "let":
            name = str(part.options[0])
            if name not in self.named:
                self.named[name] = self.write(part.operands[0])[0]
            return name, ATOM
        if kind in _INFIX:
            return self._infix(part)
        if kind in _PHRASES:
            return self._phrase(part)
        return getattr(self, f"_{kind.replace(' ', '_')}")(part)  # type: ignore[no-any-return]

    def _at(self, part: Expression, least: int) -> str:
        """The text of an operand, in parentheses where it binds less tightly than ``least``."""
        text, binds = self.write(part)
        return text if binds >= least else f"({text})"

    def _infix(self, part: Expression) -> Written:
        sign, level = _INFIX[part.operator]
        left, right = part.operands
        if sign == "×" and right.operator == "number":
            left, right = right, left
        tight = level + (part.operator in ("sub", "div", "matmul"))
        return f"{self._at(left, level)} {sign} {self._at(right, tight)}", level

    def _phrase(self, part: Expression) -> Written:
        text, binds = self.write(part.operands[0])
        if binds == CHOICE:
            text, binds = f"({text})", PHRASE
        comma = "" if binds >= POWER else ","
        return f"{text}{comma} {_PHRASES[part.operator](part)}", PHRASE

    def _neg(self, part: Expression) -> Written:
        return f"-{self._at(part.operands[0], SIGN)}", SIGN

    def _pow(self, part: Expression) -> Written:
        base, exponent = part.operands
        text, value = self._at(base, ATOM), exponent.options[0] if exponent.options else None
        if (
            exponent.operator == "number"
            and isinstance(value, (int, float))
            and value == int(value)
        ):
            return text + str(int(value)).translate(_RAISED), POWER
        return f"{text}^{self._at(exponent, ATOM)}", POWER

    def _maximum(self, part: Expression) -> Written:
        return self._called("max", part)

    def _outer(self, part: Expression) -> Written:
        return self._called("outer", part)

    def _called(self, name: str, part: Expression) -> Written:
        return f"{name}({', '.join(self.write(one)[0] for one in part.operands)})", ATOM

    def _function(self, part: Expression) -> Written:
        name = part.options[0]
        inside = self.write(part.operands[0])[0]
        return (f"|{inside}|" if name == "abs" else f"{name}({inside})"), ATOM

    def _where(self, part: Expression) -> Written:
        condition, yes, no = part.operands
        told = self._at(condition, BOTH)
        text = f"{self._at(yes, SUM)} where {told}, else {self._at(no, CHOICE)}"
        parts = (condition, *condition.operands)
        is_limited = any(one.operator in _LIMITS for one in parts)
        return f"{text} (at a limit by torch's release)" if is_limited else text, CHOICE

    def _not(self, part: Expression) -> Written:
        return f"not {self._at(part.operands[0], ATOM)}", COMPARISON

    def _and(self, part: Expression) -> Written:
        left, right = part.operands
        is_range = left.operator in _MIRRORED and right.operator in _BELOW
        if is_range and left.operands[0] == right.operands[0]:
            low = f"{self._at(left.operands[1], SUM)} {_MIRRORED[left.operator]}"
            return f"{low} {self.write(right)[0]}", COMPARISON
        return f"{self._at(left, COMPARISON)} and {self._at(right, COMPARISON)}", BOTH

    def _transposed(self, part: Expression) -> Written:
        return f"{self._at(part.operands[0], ATOM)}ᵀ", POWER

    def _reduced(self, part: Expression) -> Written:
        dims = part.options[0]
        along = f", {_dims(dims)}" if isinstance(dims, tuple) and dims else ""
        return f"{part.operator}({self.write(part.operands[0])[0]}{along})", ATOM

    _sum = _mean = _count = _reduced

    def _product_of_others(self, part: Expression) -> Written:
        along = part.options[0]
        text = self.write(part.operands[0])[0]
        where = f", {_dims(along)}" if isinstance(along, tuple) and along else ""
        return f"product of others({text}{where})", ATOM

    def _with_dims(self, part: Expression) -> Written:
        """Dimensions of size 1 make no difference to a reader."""
        return self.write(part.operands[0])

    def _part(self, part: Expression) -> Written:
        _, dim, index = part.options
        return f"{self._at(part.operands[0], ATOM)}{_indexed(dim, index)}", POWER

    def _joined(self, part: Expression) -> Written:
        texts = [self.write(one)[0] for one in part.operands]
        all_of = "grads" if len(texts) > 2 else " and ".join(texts)
        return f"{all_of} {part.operator} along dim {part.options[0]}", PHRASE

    _stacked = _joined

    def _of_target(self, part: Expression) -> Written:
        value, target = (self._at(one, PRODUCT) for one in part.operands)
        if part.options[0] == "row":
            return f"{value}[{target}]", POWER
        return f"{value} at {target}, else 0", CHOICE

    def _gathered(self, part: Expression) -> Written:
        value, index = (self._at(one, ATOM) for one in part.operands)
        return f"{value} at {index} along dim {part.options[0]}", PHRASE

    def _scattered(self, part: Expression) -> Written:
        value, index = (self._at(one, ATOM) for one in part.operands)
        return f"{value} put at {index} along dim {part.options[0]}, else 0", CHOICE

    def _added_at(self, part: Expression) -> Written:
        value, index = (self._at(one, SUM) for one in part.operands)
        return f"{value} added at {index} along dim {part.options[0]}, else 0", CHOICE


def _expanded(part: Expression) -> str:
    sizes, dims, _ = part.options
    along = f" along {_dims(dims)}" if isinstance(dims, tuple) and dims else ""
    return f"expanded to {_shape(sizes)}{along}"


def _placed(part: Expression) -> str:
    _, dim, index = part.options
    return f"at {_indexed(dim, index)}, else 0"


def _on_diagonal(part: Expression) -> str:
    offset = part.options[1]
    return f"on {f'diagonal {offset}' if offset else 'the diagonal'}, else 0"


def _triangle(part: Expression) -> str:
    start = f" from diagonal {part.options[0]}" if part.options[0] else ""
    return f"in the {part.operator} triangle{start}, else 0"


_PHRASES: Final[dict[str, Callable[[Expression], str]]] = {
    "expanded": _expanded,
    "summed to": lambda part: f"summed to {_shape(part.options[0])}",
    "sum onward": lambda part: f"summed from each place on, dim {part.options[0]}",
    "reshaped": lambda part: f"reshaped to {_shape(part.options[0])}",
    "permuted": lambda part: f"permuted by {_shape(part.options)}",
    "swapped": lambda part: "with dims {} and {} swapped".format(*part.options),
    "flipped": lambda part: f"flipped along {_dims(part.options)}",
    "rolled": lambda part: f"rolled by {_list(part.options[0])} along {_dims(part.options[1])}",
    "lower": _triangle,
    "upper": _triangle,
    "placed": _placed,
    "on diagonal": _on_diagonal,
}
"""Operations that are said after their operand."""


def _number(value: object) -> Written:
    if isinstance(value, float) and value == int(value) and abs(value) < 1e6:
        value = int(value)
    text = number(value) if isinstance(value, (int, float, str)) else str(value)
    return text, SIGN if text.startswith("-") else ATOM


def _shape(sizes: object) -> str:
    return shape(sizes if isinstance(sizes, tuple) else ())


def _list(numbers: object) -> str:
    found = numbers if isinstance(numbers, tuple) else (numbers,)
    return ", ".join(map(str, found))


def _dims(dims: object) -> str:
    several = isinstance(dims, tuple) and len(dims) > 1
    return f"dims {_list(dims)}" if several else f"dim {_list(dims)}"


def _indexed(dim: object, index: object) -> str:
    """An index in one dimension as Python writes it: ``[:, 1]``."""
    if isinstance(index, tuple):
        start, stop, step = index
        index = f"{start}:{stop}" if step == 1 else f"{start}:{stop}:{step}"
    return f"[{':, ' * int(str(dim))}{index}]"
