"""The badges of marks, and their places on a card, a box, an edge or a stub."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gradviz.model.highlights import HighlightKind
from gradviz.view.element import Element, all_of
from gradviz.view.graph.card_svg import LinkCurve
from gradviz.view.graph.geometry import PILL
from gradviz.view.graph.highlight_style import OVERLAYS
from gradviz.view.graph.layout import Point
from gradviz.view.style import SIZES
from gradviz.view.text import width_of

BELOW: Final = 2.0
"""How far the middle of a badge is below the rim of its card: the last line stays readable."""


def badges(element: Element, kinds: Sequence[HighlightKind]) -> list[Element]:
    """Badges for one group of a picture, side by side.

    Args:
        element: The group, as it is without marks.
        kinds: Its marks.
    """
    classes = element.classes
    words = {kind: OVERLAYS[kind].word for kind in kinds}
    glyphs = {kind: word.split()[0] for kind, word in words.items()}
    if "gv-edge" in classes or "gv-uses" in classes:
        at = _middle(element)
        return [] if at is None else _row(glyphs, at[0] - _total(glyphs) / 2, at[1])
    is_stub = "gv-stub" in classes
    rects = (one for one in all_of(element.inside) if one.tag == "rect")
    box = next((r for r in rects if is_stub or {"gv-card", "gv-box"} & {*r.classes}), None)
    if box is None:
        return []
    right, height = box.length("x") + box.length("width"), box.length("height")
    if "gv-card" not in box.classes:  # a line of text has no room for the word; the legend has it
        left = right - 3 if is_stub else right + 2 + PILL / 2 - _total(glyphs)
        return _row(glyphs, left, box.length("y"))
    left = max(right - _total(words) - 6, *_pills_end(element, height))
    return _row(words, left, height + BELOW)


def _row(words: dict[HighlightKind, str], left: float, y: float) -> list[Element]:
    drawn = []
    for kind, word in words.items():
        drawn.append(_pill(kind, word, left + _wide(word) / 2, y))
        left += _wide(word) + 3
    return drawn


def _total(words: dict[HighlightKind, str]) -> float:
    return sum(map(_wide, words.values())) + 3 * (len(words) - 1)


def _pills_end(element: Element, bottom: float) -> Iterator[float]:
    """The right end of the pills on the lower rim."""
    yield 0.0
    for pill in element.inside:
        if pill.tag == "g" and len(pill.attributes) == 1:
            rect = next(pill.inside)
            if rect.tag == "rect" and rect.length("y") > bottom - PILL:
                yield rect.length("x") + rect.length("width") + 3


def _wide(word: str) -> float:
    return max(PILL, width_of(word, SIZES["text"]) + 10)


def _pill(kind: HighlightKind, word: str, x: float, y: float) -> Element:
    """A pill around a point."""
    width = _wide(word)
    left, top = x - width / 2, y - PILL / 2
    own = "" if kind in ("new", "changed") else f" {OVERLAYS[kind].css}-badge"
    rim = Element("rect", {"x": left, "y": top, "width": width, "height": PILL, "rx": 7.5})
    text = Element("text", {"x": x - width_of(word, SIZES["text"]) / 2, "y": top + 11}, (word,))
    return Element("g", {"class": f"gv-badge{own}"}, (rim, text))


def _middle(element: Element) -> Point | None:
    """A point halfway along the curve of a link."""
    lines = (one.attributes.get("d") for one in element.inside)
    points = next((line.points for line in lines if isinstance(line, LinkCurve)), None)
    if points is None:
        return None
    pieces = len(points) // 3
    first = pieces // 2 * 3
    if pieces % 2 == 0:  # between two pieces
        return round(points[first][0], 1), round(points[first][1], 1)
    xs, ys = ([round(point[i], 1) for point in points[first : first + 4]] for i in (0, 1))
    return _halfway(*xs), _halfway(*ys)


def _halfway(start: float, one: float, two: float, end: float) -> float:
    return (start + 3 * one + 3 * two + end) / 8
