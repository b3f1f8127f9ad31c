"""Edges of a window beyond which a picture goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gradviz.view.element import Element, Value
from gradviz.view.export.animated.camera import Box, Edge

BANDS: Final = (4.0, 9.0, 15.0, 22.0)
"""Widths of the bands that lie over each other: no gradient, which would need an id."""


def fades(edge: Edge, room: Box, css: str) -> Iterator[Element]:
    """Bands along an edge of a window, through which less and less is seen.

    Args:
        edge: Which edge.
        room: The window.
        css: The class that gives them the colour of the ground.
    """
    x, y, wide, high = room
    for band in BANDS:
        place: dict[str, Value] = {
            "x": x + wide - band - 1 if edge == "right" else x + 1,
            "y": y + high - band - 1 if edge == "bottom" else y + 1,
            "width": band if edge in ("left", "right") else wide - 2,
            "height": band if edge in ("top", "bottom") else high - 2,
        }
        yield Element("rect", {"class": css, "opacity": "0.4", **place})
