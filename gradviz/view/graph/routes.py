"""The way of links between boxes in rows: past each row straight along the flow, through a place
where no box is, and sideways only in the gaps between rows.

So no link runs over a box, and none does after the picture was stretched: a row stays a row, what
is beside a box stays there, and a gap stays free.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import dist, inf
from typing import Final, TypeAlias

from gradviz.view.graph.layout import Direction, Point


class Stretch:
    """A growing map of one axis, between its breakpoints linear, that shrinks no distance.

    Args:
        length: Length of the axis.
        needs: Where it begins, where it ends and how long it must become, for each interval.

    Examples:
        >>> stretch = Stretch(100, [(20, 40, 50)])
        >>> [stretch(at) for at in (0, 20, 30, 40, 100)]
        [0.0, 20.0, 45.0, 70.0, 130.0]
    """

    def __init__(self, length: float, needs: Sequence[tuple[float, float, float]]) -> None:
        self._before = sorted({0.0, float(length), *(e for need in needs for e in need[:2])})
        at = {place: number for number, place in enumerate(self._before)}
        ending: dict[int, list[tuple[int, float]]] = {}
        for start, end, size in needs:
            ending.setdefault(at[end], []).append((at[start], max(size, end - start)))
        self._after: list[float] = []
        for number, place in enumerate(self._before):
            least = self._after[-1] + place - self._before[number - 1] if number else place
            starts = (self._after[start] + size for start, size in ending.get(number, ()))
            self._after.append(max((least, *starts)))

    def __call__(self, place: float) -> float:
        """Where a place is now."""
        before, after = self._before, self._after
        number = min(max(bisect_right(before, place) - 1, 0), len(before) - 2)
        share = (place - before[number]) / (before[number + 1] - before[number])
        return after[number] + share * (after[number + 1] - after[number])


Span: TypeAlias = tuple[float, float]
Place: TypeAlias = tuple[float, float]
"""How far across the flow, and how far along it."""
CLEAR: Final = 6.0
"""Pixels between a link and a box that it passes."""
STRAIGHT: Final = 24.0
"""Pixels by which a link leaves its way so that it is straight as long as it can be."""
NARROW: Final = 40.0
"""Pixels that links move sideways without needing more room between two rows."""
ROOM: Final = 0.04
"""More room for each pixel that they move further."""
MOST: Final = 22.0
"""Room above which it is not made larger for them."""
STEPS: Final = 8
"""Straight pieces of a curve along which a link goes, about."""
SAME: Final = 0.05
"""Pixels below which two places are the same one."""
STIFF: Final = 0.75
"""How long a link that turns keeps its direction, as a share of the gap."""


@dataclass(frozen=True, slots=True)
class Row:
    """Boxes beside each other."""

    start: float
    end: float
    boxes: tuple[Span, ...]
    """From where to where they are across the flow, in this order, those too close as one."""

    def free(self, width: float) -> list[Span]:
        """Where a link can pass."""
        ends = [CLEAR, *(edge for span in self.boxes for edge in span), width - CLEAR]
        return [(low, high) for low, high in zip(ends[::2], ends[1::2], strict=True) if low <= high]


class Routes:
    """Ways between boxes.

    Args:
        boxes: Of each box where it begins and ends across the flow, and along it.
        width: Pixels of the picture across the flow.

    Examples:
        A link that passes a box in its way on the nearer side:

        >>> routes = Routes([((40, 60), (0, 20)), ((40, 70), (40, 60)), ((40, 60), (80, 99))], 200)
        >>> routes.way((50, 20), (50, 80), [(50, 20), (60, 50), (60, 50), (50, 80)])
        [(50, 20), (50, 20), (76.0, 40), (76.0, 60), (50, 80), (50, 80)]
    """

    def __init__(self, boxes: Iterable[tuple[Span, Span]], width: float) -> None:
        self._width = width
        self._rows = [*_rows(boxes)]

    def way(self, start: Place, end: Place, hint: Sequence[Place]) -> list[Place]:
        """The places where a link turns, with those where it begins and ends, four at least: it
        leaves the row of its first box as it leaves the box, and comes into that of its last.

        Args:
            start: Where it leaves a box, or the rim.
            end: Where it arrives.
            hint: Control points of a curve along which it goes, about.
        """
        rows = [row for row in self._rows if start[1] <= row.start and row.end <= end[1]]
        within = [row for row in self._rows if start[1] > row.start or row.end > end[1]]
        leaves = max((r.end for r in within if r.start <= start[1] <= r.end), default=start[1])
        enters = min((r.start for r in within if r.start <= end[1] <= r.end), default=end[1])
        found = [start, (start[0], leaves)]
        for first, last, across in self._straight(rows, start, end, hint):
            found += [(across, first.start), (across, last.end)]
        found += [(end[0], enters), end]
        return found

    def _straight(
        self, rows: Sequence[Row], start: Place, end: Place, hint: Sequence[Place]
    ) -> Iterator[tuple[Row, Row, float]]:
        """Rows that are passed in one line, the first and the last of each line, and where."""
        lines: list[tuple[list[Row], Span, list[float]]] = []
        guide = tuple(_pieces(hint)) if rows else ()
        for row in rows:
            wish = _across(guide, (row.start + row.end) / 2)
            free = min(row.free(self._width), key=lambda one: abs(_into(wish, one) - wish))
            low, high = lines[-1][1] if lines else (1.0, 0.0)
            both = max(low, free[0]), min(high, free[1])
            if both[0] <= both[1]:
                line = lines.pop()
                lines.append(([*line[0], row], both, [*line[2], wish]))
            else:
                lines.append(([row], free, [wish]))
        for number, (passed, free, wishes) in enumerate(lines):
            across = _into(sum(wishes) / len(wishes), free)
            ports = (start,) * (number == 0) + (end,) * (number == len(lines) - 1)
            near = (port for port, _ in ports if abs(port - across) <= STRAIGHT)
            across = next((port for port in near if _into(port, free) == port), across)
            yield passed[0], passed[-1], across


def room(ways: Iterable[Sequence[Place]]) -> list[tuple[float, float, float]]:
    """Gaps between rows that are too narrow for the links that turn there, each with the room that
    it needs.

    Examples:
        >>> room([[(0, 0), (0, 10), (240, 22), (240, 40)], [(9, 0), (9, 10), (9, 22), (9, 40)]])
        [(10, 22, 20.0)]
    """
    moves: dict[Span, float] = {}
    for way in ways:
        for (across, after), (other, before) in pairwise(way):
            gap = after, before
            moves[gap] = max(moves.get(gap, 0.0), abs(other - across))
    return [
        (after, before, min(MOST, before - after + ROOM * (move - NARROW)))
        for (after, before), move in moves.items()
        if move > NARROW and 0 < before - after < MOST
    ]


def curve(way: Sequence[Point], direction: Direction) -> tuple[Point, ...]:
    """Bézier control points, ``1 + 3 k`` of them, of a link that turns at these places: along the
    flow at each, and between two never against it.

    Examples:
        >>> curve([(0, 0), (0, 0), (9, 20), (9, 20)], "TB")
        ((0, 0), (0, 15.0), (9, 5.0), (9, 20))
    """
    across = 0 if direction == "TB" else 1
    turns = [way[0]]
    for place, after in pairwise(way[1:]):
        sides = [one[across] for one in (turns[-1], place, after)]
        if dist(place, turns[-1]) > SAME < max(sides) - min(sides):
            turns.append(place)
    if dist(way[-1], turns[-1]) <= SAME and len(turns) > 1:
        turns.pop()
    turns.append(way[-1])
    found = [turns[0]]
    for (x, y), (to_x, to_y) in pairwise(turns):
        if direction == "TB":
            by = STIFF * (to_y - y)
            found += [(x, y + by), (to_x, to_y - by), (to_x, to_y)]
        else:
            by = STIFF * (to_x - x)
            found += [(x + by, y), (to_x - by, to_y), (to_x, to_y)]
    return tuple(found)


def _rows(boxes: Iterable[tuple[Span, Span]]) -> Iterator[Row]:
    """Boxes in rows: nothing of one row is beside something of another one."""
    held: list[tuple[Span, Span]] = []
    end = -inf
    for box in sorted(boxes, key=lambda one: one[1]):
        if held and box[1][0] >= end:
            yield _row(held)
            held = []
        held.append(box)
        end = max(end, box[1][1])
    if held:
        yield _row(held)


def _row(held: Sequence[tuple[Span, Span]]) -> Row:
    spans: list[Span] = []
    for low, high in sorted((low - CLEAR, high + CLEAR) for (low, high), _ in held):
        if spans and low <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], high))
        else:
            spans.append((low, high))
    return Row(held[0][1][0], max(along[1] for _, along in held), tuple(spans))


def _pieces(hint: Sequence[Place]) -> Iterator[Place]:
    """A curve as a line of straight pieces."""
    yield hint[0]
    for at in range(0, len(hint) - 1, 3):
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = hint[at : at + 4]
        for a, b, c, d in _SHARES:
            yield a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3


_SHARES: Final = [
    (rest**3, 3 * share * rest**2, 3 * share**2 * rest, share**3)
    for share, rest in ((step / STEPS, 1 - step / STEPS) for step in range(1, STEPS + 1))
]
"""What each control point of a curve counts for at the end of each piece."""


def _across(line: Sequence[Place], along: float) -> float:
    """How far across a line is there."""
    for before, place in pairwise(line):
        if before[1] <= along <= place[1] and before[1] < place[1]:
            share = (along - before[1]) / (place[1] - before[1])
            return before[0] + share * (place[0] - before[0])
    return line[-1][0]


def _into(value: float, span: Span) -> float:
    return min(max(value, span[0]), span[1])
