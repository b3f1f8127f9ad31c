"""Text that comes from the user's program is data: made visible, measured, shortened, escaped."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

EM: Final = 0.62
"""Width of one character in em: no monospace face in the stack is wider."""

_ESCAPED: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_MARKS: Final = frozenset(("Mn", "Me"))
_TWO_CELLS: Final = "⚠"


@lru_cache(maxsize=4096)
def clean(text: str) -> str:
    r"""Text in one line that XML can carry and that cannot hide or reorder what is around it.

    Control characters, direction overrides, lone surrogates and the like become the escapes
    Python writes for them; of marks stacked on one letter two stay.

    Examples:
        >>> clean("a\nb"), clean("x\u202ey"), clean("\ud800")
        ('a\\nb', 'x\\u202ey', '\\ud800')
    """
    if text.isascii() and text.isprintable():
        return text
    out: list[str] = []
    marks = 0
    for sign in text:
        category = unicodedata.category(sign)
        marks = marks + 1 if category in _MARKS else 0
        if category in _ESCAPED:
            out.append(sign.encode("unicode_escape").decode("ascii"))
        elif marks <= 2:
            out.append(" " if category == "Zs" else sign)
    return "".join(out)


def cells(text: str) -> int:
    """How many character cells clean text takes; wide East Asian characters take two.

    Examples:
        >>> cells("abc"), cells("重み")
        (3, 4)
    """
    if text.isascii():
        return len(text)
    return sum(
        2 if sign in _TWO_CELLS or unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in text
    )


def width_of(text: str, size: float) -> float:
    """Width in pixels that clean text is given at a font size."""
    return cells(text) * EM * size


def plain(text: str) -> bool:
    """Whether every monospace font has these characters in one cell."""
    return text.isascii() or all(sign.isascii() or sign in "…·×→≠" for sign in text)


@lru_cache(maxsize=4096)
def shorten(text: str, room: int) -> str:
    """Clean text in at most ``room`` cells; what is too long loses its middle.

    Examples:
        >>> shorten("model.layers.0.attention.weight", 16)
        'model.l….weight'
    """
    text = clean(text)
    if cells(text) <= room:
        return text
    tail = (room - 1) // 2
    return (
        _fitting(text, room - 1 - tail).rstrip() + "…" + _fitting(text[::-1], tail)[::-1].lstrip()
    )


def _fitting(text: str, room: int) -> str:
    taken = 0
    for place, sign in enumerate(text):
        taken += cells(sign)
        if taken > room:
            return text[:place]
    return text


def xml(text: str) -> str:
    """Clean text escaped for XML and HTML, in content and in quoted attributes."""
    return "\n".join(_escape(clean(line)) for line in text.split("\n"))


def _escape(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&#39;")


def px(value: float) -> str:
    """A length with at most one decimal, the same on every machine."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text
