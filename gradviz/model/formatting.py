"""Numbers, sizes and shapes in words, the same in every package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from gradviz.model.records import Attribute, Number, ValueSummary


def size(nbytes: int) -> str:
    """A number of bytes with its unit.

    Examples:
        >>> size(24), size(50_000), size(3 << 20)
        ('24 B', '48.8 KiB', '3.0 MiB')
    """
    amount, units = float(nbytes), iter(("KiB", "MiB", "GiB"))
    if nbytes < 10_000:
        return f"{nbytes} B"
    unit = ""
    while amount >= 1024 and (following := next(units, "")):
        amount, unit = amount / 1024, following
    return f"{amount:.1f} {unit}"


def plural(count: int, thing: str) -> str:
    """``1 node``, ``2 nodes``, ``1,000 leaves``."""
    if count != 1:
        thing = thing[:-1] + "ves" if thing.endswith("f") else thing + "s"
    return f"{count:,} {thing}"


def a_kind(value: object) -> str:
    """The class of what was given, in a sentence: ``a Tensor``, ``an int``."""
    name = type(value).__name__
    return f"an {name}" if name[:1] in "aeioAEIO" else f"a {name}"


def number(value: Number, digits: int = 4) -> str:
    """A value as Python would write it, floats with few significant digits.

    Examples:
        >>> number(2.0), number(1 / 3), number(True), number("nan"), number(1e-9)
        ('2.0', '0.3333', 'True', 'nan', '1e-09')
        >>> number("1-0.3333333432674408j")
        '1-0.3333j'
    """
    if isinstance(value, str) and value.endswith("j"):
        return _complex(value, digits)
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.{digits}g}"
    return text if any(sign in text for sign in ".en") else text + ".0"


def _complex(value: str, digits: int) -> str:
    try:
        found = complex(value)
    except ValueError:
        return value
    return f"{found.real:.{digits}g}{found.imag:+.{digits}g}j"


def numbers(
    values: Sequence[Number], sizes: Sequence[int], room: int = 1000, digits: int = 4
) -> str:
    """Few values; a scalar without brackets; a long list without its middle.

    Examples:
        >>> numbers((2.0,), ()), numbers((1, 2, 3), (3,)), numbers((1, 2, 3, 4), (4,), 10)
        ('2.0', '[1, 2, 3]', '[1, …, 4]')
    """
    words = [number(value, digits) for value in values]
    if not sizes and len(words) == 1:
        return words[0]
    text = f"[{', '.join(words)}]"
    left = len(words) - 1
    while len(text) > room and left > 1:
        left -= 1
        text = f"[{', '.join(words[:left])}, …, {words[-1]}]"
    return text


def shape(sizes: Sequence[int] | None) -> str:
    """A shape as a tuple, ``?`` when it is not known."""
    return "?" if sizes is None else str(tuple(sizes))


UNREAD: Final = "not read: values=True reads it"
"""Of numbers that the budget of a look did not allow to read."""


def summary(found: ValueSummary | None, digits: int = 4, whole: bool = False) -> str:
    """``.grad`` in a few words: values, or minimum, mean and maximum.

    Args:
        found: The summary.
        digits: Significant digits of numbers.
        whole: Whether norm, shape and dtype are added.
    """
    if found is None:
        return "None"
    if found.is_unread:
        return f"{UNREAD}, {shape(found.shape)}" if whole else UNREAD
    if found.values is not None:
        words = [numbers(found.values, found.shape, digits=digits)]
    else:
        pairs = (("min", found.min), ("mean", _mean(found)), ("max", found.max))
        words = [f"{word} {number(n, digits)}" for word, n in pairs if n is not None]
    if whole and found.norm is not None:
        words.append(f"norm {number(found.norm, digits)}")
    if whole:
        words.append(f"{shape(found.shape)} {found.dtype}")
    text = " ".join(words) or f"values not read, {shape(found.shape)}"
    return f"{text}{not_finite(found)}"


def not_finite(found: ValueSummary) -> str:
    """Whether there are nan or inf among the numbers: `` (has nan)``, else nothing."""
    both = (("nan", found.has_nan), ("inf", found.has_inf))
    bad = " and ".join(word for word, is_there in both if is_there)
    return f" (has {bad})" if bad else ""


def _mean(found: ValueSummary) -> Number | None:
    """The mean; 0 where it is only a rounding error, which differs between devices."""
    parts = (found.min, found.mean, found.max)
    if not all(isinstance(part, float) for part in parts):
        return found.mean
    low, mean, high = (float(part) for part in parts if part is not None)
    return 0.0 if abs(mean) < 1e-6 * max(abs(low), abs(high)) else found.mean


def attribute(value: Attribute, digits: int = 4, tidy: Callable[[str], str] = str) -> str:
    """A saved scalar or size.

    Args:
        value: What was saved.
        digits: Significant digits of numbers.
        tidy: Cleans the text of the user's program.

    Examples:
        >>> attribute((2,)), attribute(0.5), attribute((None, "mean"))
        ('(2,)', '0.5', '(None, mean)')
    """
    if isinstance(value, tuple):
        inside = ", ".join(attribute(part, digits, tidy) for part in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return number(value, digits) if isinstance(value, float) else tidy(str(value))
