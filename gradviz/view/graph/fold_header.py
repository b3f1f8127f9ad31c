"""The header of an open fold: a sign that folds it, its name and its counts."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from gradviz.view.element import Element
from gradviz.view.graph import card_svg
from gradviz.view.graph.card_parts import Line
from gradviz.view.style import SIZES
from gradviz.view.text import shorten

HEADER: Final = 30.0
"""Height of a header."""
_PAD: Final = 10.0
_BETWEEN: Final = 12.0
_NAME: Final = 48
_COUNTS: Final = 40


def header_width(label: str, counts: str) -> float:
    """Pixels that a header takes."""
    title, facts = _lines(label, counts)
    return round(2 * _PAD + title.width + _BETWEEN + facts.width, 1)


def header(label: str, counts: str) -> tuple[Element, ...]:
    """The elements of a header with its upper left corner at 0, 0."""
    title, facts = _lines(label, counts)
    return (
        *_title(title),
        *card_svg.lines((facts,), _PAD + title.width + _BETWEEN, (HEADER - facts.height) / 2 + 1),
    )


@lru_cache(maxsize=4096)
def _title(title: Line) -> tuple[Element, ...]:
    """Drawn once: at every step of a recording it is the same."""
    return tuple(card_svg.lines((title,), _PAD, (HEADER - title.height) / 2))


def _lines(label: str, counts: str) -> tuple[Line, Line]:
    return (
        Line(shorten(label, _NAME), "gv-title", SIZES["title"], "open"),
        Line(shorten(counts, _COUNTS), "gv-muted"),
    )
