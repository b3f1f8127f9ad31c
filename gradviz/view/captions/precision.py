"""How many digits an equation needs, so that it is right as it is printed."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from gradviz.model.records import Number
from gradviz.view import formatting

SHOWN: Final = 4
"""Significant digits of numbers in captions."""
_MOST: Final = 12
_CLOSE: Final = 5e-3
"""Share of a result by which what is printed may miss it, said with ``≈``."""
Value: TypeAlias = "int | float | complex"


@dataclass(frozen=True, slots=True)
class Precision:
    """How an equation is printed: the result with :data:`SHOWN` digits, the rest with these."""

    digits: int
    is_exact: bool
    """Whether the printed numbers give the printed result: ``=``; else they are close: ``≈``."""

    @property
    def sign(self) -> str:
        """``=`` or ``≈``."""
        return "=" if self.is_exact else "≈"


def precision(
    printed: Callable[[int], Sequence[Value] | None], result: Sequence[Number]
) -> Precision | None:
    """The fewest digits with which an equation is right, or nearly so.

    Args:
        printed: What the left side gives, computed from its numbers with so many digits; ``None``
            where it cannot be computed.
        result: The right side.

    Returns:
        ``None`` if the left side gives something else, however many digits are printed.

    Examples:
        >>> precision(lambda digits: [float(f"{1 / 3:.{digits}g}") * 3], (1.0,))
        Precision(digits=4, is_exact=False)
        >>> precision(lambda digits: [1 - float(f"{0.99998772:.{digits}g}") ** 2], (2.456e-05,))
        Precision(digits=7, is_exact=False)
        >>> precision(lambda digits: [7.0], (8.0,)) is None
        True
    """
    wanted = [value_of(number) for number in result]
    for digits in range(SHOWN, _MOST + 1):
        found = printed(digits)
        if found is None or len(found) != len(wanted):
            continue
        pairs = [(one, other) for one, other in zip(found, wanted) if other is not None]
        if len(pairs) < len(wanted):
            return None
        if all(_text(one) == _text(other) for one, other in pairs):
            return Precision(digits, is_exact=True)
        if all(cmath.isclose(one, other, rel_tol=_CLOSE) for one, other in pairs):
            return Precision(digits, is_exact=False)
    return None


def value_of(number: Number, digits: int = 17) -> Value | None:
    """A finite number, complex ones too, as it is where so many digits are printed.

    Examples:
        >>> value_of(1 / 3, 2), value_of("1-0.3333j", 2), value_of("nan")
        (0.33, (1-0.33j), None)
    """
    if isinstance(number, (str, float)):
        try:
            found = complex(formatting.number(number, digits))
        except ValueError:
            return None
        if not cmath.isfinite(found):
            return None
        return found if isinstance(number, str) else found.real
    return number


def _text(value: Value) -> str:
    if isinstance(value, complex):
        return formatting.number(f"{value.real + 0:.17g}{value.imag + 0:+.17g}j", SHOWN)
    return formatting.number(float(value) + 0, SHOWN)
