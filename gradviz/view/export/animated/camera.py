"""Where a window stands over something larger, so that what a frame is about is in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from gradviz.view.graph.layout import Point

MARGIN: Final = 20.0
"""Pixels between what a frame is about and the rim of the window, if there is room."""


Edge: TypeAlias = Literal["left", "right", "top", "bottom"]


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float


def offsets(subjects: Sequence[Sequence[Box]], whole: Box, room: Point) -> tuple[Point, ...]:
    """By how much to move something in each frame.

    What fits is in the middle and never moves. Else the window moves as little as it can, and not
    beyond the rim.

    Args:
        subjects: What each frame is about, the most important first; what follows is seen too
            where there is room. Of none the window stays.
        whole: What there is to see.
        room: Size of the window.

    Examples:
        >>> offsets([[], []], Box(0, 0, 100, 100), (200, 100))
        ((50.0, 0.0), (50.0, 0.0))
        >>> offsets([[Box(0, 0, 80, 30)], [Box(0, 300, 80, 30)]], Box(0, 0, 100, 400), (100, 120))
        ((0.0, 0.0), (0.0, -230.0))
    """
    starts = next((boxes for boxes in subjects if boxes), ())
    sides = []
    for side in (0, 1):
        spans = [[(box[side], box[side] + box[side + 2]) for box in boxes] for boxes in subjects]
        first = next(iter(starts), None)
        start = 0.0 if first is None else first[side] + first[side + 2] / 2 - room[side] / 2
        sides.append(_along(spans, (whole[side], whole[side + 2]), room[side], start))
    return tuple(zip(*sides, strict=True))


def beyond(moves: Sequence[Point], whole: Box, room: Point) -> dict[Edge, frozenset[int]]:
    """The edges of a window beyond which there is more, each with the frames in which it is so.

    Args:
        moves: By how much everything is moved in each frame.
        whole: What there is to see.
        room: Size of the window.

    Examples:
        >>> beyond([(0.0, 0.0), (-40.0, 0.0)], Box(0, 0, 140, 100), (100, 100))
        {'left': frozenset({1}), 'right': frozenset({0})}
    """
    hidden: dict[Edge, list[float]] = {
        "left": [-(whole.x + x) for x, _ in moves],
        "right": [whole.x + whole.width + x - room[0] for x, _ in moves],
        "top": [-(whole.y + y) for _, y in moves],
        "bottom": [whole.y + whole.height + y - room[1] for _, y in moves],
    }
    found = {
        edge: frozenset(i for i, pixels in enumerate(each) if pixels >= 1)
        for edge, each in hidden.items()
    }
    return {edge: frames for edge, frames in found.items() if frames}


def _along(
    frames: Sequence[Sequence[tuple[float, float]]],
    whole: tuple[float, float],
    room: float,
    start: float,
) -> list[float]:
    """The same in one direction; the whole is where it begins and how long it is."""
    least, length = whole
    if length <= room:
        return [(room - length) / 2 - least] * len(frames)
    most = least + length - room
    at, found = min(max(start, least), most), []
    for spans in frames:
        if (wanted := _fitting(spans, room)) is not None:
            low, high = wanted
            margin = max(0.0, min(MARGIN, (room - (high - low)) / 2))
            at = min(max(at, high + margin - room), low - margin)
            at = min(max(at, least), most)
        found.append(-at or 0.0)
    return found


def _fitting(spans: Sequence[tuple[float, float]], room: float) -> tuple[float, float] | None:
    """What holds the first of these, and those after it as long as all fit."""
    wanted: tuple[float, float] | None = None
    for low, high in spans:
        both = (low, high) if wanted is None else (min(low, wanted[0]), max(high, wanted[1]))
        if wanted is not None and both[1] - both[0] > room:
            break
        wanted = both
    return wanted
