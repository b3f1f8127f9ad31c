"""SVG that only the steps of a recording have: gradients on edges, and absent elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gradviz.view import formatting
from gradviz.view.element import Element
from gradviz.view.graph.card_svg import AWAY
from gradviz.view.graph.layout import Direction, Point
from gradviz.view.graph.variants import EdgeGradient
from gradviz.view.style import SIZES
from gradviz.view.text import EM, cells, px, width_of

HEIGHT: Final = 15.0
MOST: Final[dict[Direction, int]] = {"TB": 26, "LR": 15}
"""Cells of the longest gradient."""
SIGN: Final = 11.0


def absent(key: str) -> Element:
    """The empty place of something that does not exist at a step."""
    return Element("g", {"id": key, "class": "gv-absent"}, ("",))


def rank_gap(flows: Iterable[EdgeGradient], direction: Direction) -> float:
    """Pixels between ranks that gradients need; 0 without gradients."""
    widths = [_width(formatting.gradient_words(flow.gradient, MOST[direction])) for flow in flows]
    if not widths:
        return 0.0
    return 46.0 if direction == "TB" else max(widths) + 46.0


def port_gap(flows: Iterable[EdgeGradient]) -> float:
    """Pixels between ports that the shapes of gradients need; 0 without gradients."""
    return max(
        (_width(formatting.gradient_words(flow.gradient, 0)) + 4 for flow in flows), default=0
    )


def _width(words: str) -> float:
    return width_of(words, SIZES["small"]) + SIGN + (8 if words else 4)


def gradient(flow: EdgeGradient, end: Point, space: float, direction: Direction) -> Element:
    """A gradient where a link ends, with a sign of its direction.

    Args:
        flow: The gradient.
        end: Where the link ends.
        space: Pixels from one input port to the next.
        direction: How data flows.
    """
    x, y = end
    room = MOST[direction]
    if direction == "TB":
        room = min(room, int((space - 4 - SIGN - 8) / (EM * SIZES["small"])))
    words = formatting.gradient_words(flow.gradient, room)
    words = words if cells(words) <= room else ""  # whole or not at all
    width = _width(words)
    if direction == "TB":
        left, top, sign = x - width / 2, y - AWAY - HEIGHT, "l3.5,-6 3.5,6z"
    else:
        left, top, sign = x - AWAY - width, y - HEIGHT / 2, "l6,-3.5 0,7z"
    middle = top + HEIGHT / 2
    start = middle + (3 if direction == "TB" else 0)
    said = f"gradient {formatting.gradient_words(flow.gradient, 200)}"
    shown = [
        Element("title", {}, (said,)),
        Element("rect", {"x": left, "y": top, "width": width, "height": HEIGHT, "rx": 7.5}),
        Element("path", {"d": f"M{px(left + 4)},{px(start)}{sign}"}),
    ]
    if words:
        shown.append(Element("text", {"x": left + SIGN + 4, "y": middle + 3.5}, (words,)))
    return Element("g", {"class": "gv-gradient"}, tuple(shown))
