"""Whether two facts are the same, and both in words that differ if they do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gradviz.model.facts import FactValue, Values
from gradviz.model.formatting import attribute, numbers, summary
from gradviz.model.records import Number, ValueSummary

CLOSE: Final = 1e-5
"""Numbers that differ by less, as a share of the larger, are the same: rounding differs between
devices, releases of torch and orders of adding."""
SCALE: Final = 1e-6
"""The same as a share of the largest number beside them."""


def same(one: FactValue, other: FactValue) -> bool:
    """Whether two facts are the same, numbers apart from their rounding.

    Examples:
        >>> same(1.0, 1.0000001), same(1.0, 1.001), same((1, 2), (1, 3)), same(0.0, 1e-12)
        (True, False, False, False)
    """
    if isinstance(one, ValueSummary) and isinstance(other, ValueSummary):
        return _same_summary(one, other)
    if isinstance(one, Values) and isinstance(other, Values):
        return len(one.values) == len(other.values) and _close(one.values, other.values)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return _close((one,), (other,))
    return type(one) is type(other) and one == other


def _close(one: Sequence[Number], other: Sequence[Number], scale: float = 0.0) -> bool:
    sizes = [abs(n) for n in (*one, *other) if isinstance(n, float)]
    largest = max((scale, *sizes)) if len(one) > 1 or scale else 0.0
    return all(
        a == b
        or (
            isinstance(a, float)
            and isinstance(b, float)
            and abs(a - b) <= max(CLOSE * max(abs(a), abs(b)), SCALE * largest)
        )
        for a, b in zip(one, other)
    )


def _same_summary(one: ValueSummary, other: ValueSummary) -> bool:
    facts = ("has_nan", "has_inf")
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if any(_known_other(getattr(one, fact), getattr(other, fact)) for fact in facts):
        return False
    if one.values is not None and other.values is not None:
        return _close(one.values, other.values)
    extremes = [n for n in (one.min, one.max, other.min, other.max) if isinstance(n, float)]
    scale = max(map(abs, extremes), default=0.0)
    pairs = [(getattr(one, n), getattr(other, n)) for n in ("min", "mean", "max", "norm")]
    return all(None in pair or _close(pair[:1], pair[1:], scale) for pair in pairs)


def _known_other(one: bool | None, other: bool | None) -> bool:
    return one is not None and other is not None and one != other


def both(one: FactValue, other: FactValue) -> tuple[str, str]:
    """Two facts that are not the same in words that are not the same.

    Examples:
        >>> both(2.0, 3.0), both(1.0, 1.00002)
        (('2.0', '3.0'), ('1.0', '1.00002'))
    """
    for digits, whole in ((4, False), (4, True), (6, True), (9, True), (17, True)):
        words = say(one, digits, whole), say(other, digits, whole)
        if words[0] != words[1]:
            return words
    return words[0], f"another {words[1]}"


def say(fact: FactValue, digits: int = 4, whole: bool = False) -> str:
    """A fact in words.

    Args:
        fact: What to say.
        digits: Significant digits of numbers.
        whole: Whether a summary says its norm, shape and dtype too.
    """
    if isinstance(fact, ValueSummary):
        return summary(fact, digits, whole)
    if isinstance(fact, Values):
        return numbers(fact.values, fact.shape, digits=digits)
    return attribute(fact, digits)
