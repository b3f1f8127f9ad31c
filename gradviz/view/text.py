"""Text of the user's program: made visible, measured, shortened, escaped."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from functools import lru_cache
from typing import Final

from gradviz.model.sentence import Sentence

EM: Final = 0.62
"""Width of one character in em: no monospace face in the stack is wider."""

_ESCAPED: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_MARKS: Final = frozenset(("Mn", "Me"))
_TWO_CELLS: Final = "⚠"
_ONE_CELL: Final = frozenset("…·×→≠Σ∂∅")
_RIGHT_TO_LEFT: Final = frozenset(("R", "AL", "AN"))
_VISIBLE: Final = _ONE_CELL.union(filter(str.isprintable, map(chr, range(0x300))))
"""Characters that stay as they are: the common ones, without marks and escapes."""
_FSI, _PDI = "\u2068", "\u2069"
_ISOLATES: Final = _FSI + _PDI


@lru_cache(maxsize=4096)
def clean(text: str) -> str:
    r"""Text in one line that XML can carry and that cannot hide or reorder what is around it.

    Control characters, direction overrides, lone surrogates and the like become the escapes
    Python writes for them; of marks stacked on one letter two stay; text that runs from right
    to left is isolated, so that what follows it stays in its place.

    Examples:
        >>> clean("a\nb"), clean("x\u202ey"), clean("\ud800")
        ('a\\nb', 'x\\u202ey', '\\ud800')
    """
    if text.isascii() and text.isprintable():
        return text
    return _isolated(_visible(text, ""))


def cleaned(sentence: str) -> Sentence:
    r"""A clean sentence with the same terms.

    Examples:
        >>> from gradviz.model.sentence import Term, say
        >>> cleaned(say("{} wrote it", Term("t0", "a\nb"))).parts
        (Term(id='t0', text='a\\nb', step=None), ' wrote it')
    """
    if not isinstance(sentence, Sentence):
        return Sentence(clean(sentence))
    return Sentence(
        *(
            clean(part) if isinstance(part, str) else replace(part, text=clean(part.text))
            for part in sentence.parts
        )
    )


def _visible(text: str, allowed: str) -> str:
    if _VISIBLE.issuperset(text):
        return text
    out: list[str] = []
    marks = 0
    for sign in text:
        category = unicodedata.category(sign)
        marks = marks + 1 if category in _MARKS else 0
        if category in _ESCAPED and sign not in allowed:
            out.append(sign.encode("unicode_escape").decode("ascii"))
        elif marks <= 2:
            out.append(" " if category == "Zs" else sign)
    return "".join(out)


def _isolated(text: str) -> str:
    if any(unicodedata.bidirectional(sign) in _RIGHT_TO_LEFT for sign in text):
        return _FSI + text + _PDI
    return text


def cells(text: str) -> int:
    """How many character cells clean text takes; wide East Asian characters take two.

    Examples:
        >>> cells("abc"), cells("重み")
        (3, 4)
    """
    return len(text) if text.isascii() else _counted(text)


@lru_cache(maxsize=4096)
def _counted(text: str) -> int:
    return sum(
        2 if sign in _TWO_CELLS or unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in text
        if sign not in _ISOLATES
    )


def width_of(text: str, size: float) -> float:
    """Width in pixels that clean text is given at a font size."""
    return cells(text) * EM * size


def plain(text: str) -> bool:
    """Whether every monospace font has these characters in one cell."""
    return text.isascii() or all(
        sign.isascii() or sign in _ONE_CELL or sign == "\xa0" for sign in text
    )


@lru_cache(maxsize=4096)
def shorten(text: str, room: int, end: bool = False) -> str:
    """Text in at most ``room`` cells; what is too long loses its middle, or its end.

    Parts of the text that are clean already stay as they are.

    Examples:
        >>> shorten("model.layers.0.attention.weight", 16)
        'model.la….weight'
        >>> shorten("mul_tensor_backward(grad, other)", 16, end=True)
        'mul_tensor_back…'
    """
    text = _visible(text, _ISOLATES)
    if cells(text) <= room:
        return text if _FSI in text else _isolated(text)
    bare = text.replace(_FSI, "").replace(_PDI, "")
    tail = 0 if end else (room - 1) // 2
    start, rest = _fitting(bare, room - 1 - tail), _fitting(bare[::-1], tail)[::-1]
    return _isolated(f"{start.rstrip()}…{rest.lstrip()}")


def _fitting(text: str, room: int) -> str:
    taken = 0
    for place, sign in enumerate(text):
        taken += cells(sign)
        if taken > room:
            return text[:place]
    return text


def xml(text: str) -> str:
    """Clean text escaped for XML and HTML, in content and in quoted attributes."""
    if not (text.isascii() and text.isprintable()):
        text = "\n".join(_visible(line, _ISOLATES) for line in text.split("\n"))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&#39;")


def px(value: float) -> str:
    """A length with at most one decimal, the same on every machine."""
    text = f"{value:.1f}"
    return text[:-2] if text[-1] == "0" else text
