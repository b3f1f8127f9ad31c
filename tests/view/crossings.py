"""Crossings of the links of a picture, measured on the curves as they are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from math import hypot
from typing import TypeAlias

from gradviz.view.element import Element, all_of
from gradviz.view.graph.card_svg import LinkCurve
from gradviz.view.graph.layout import Point

Segment: TypeAlias = tuple[Point, Point]
PIECES = 16
"""Straight pieces of one Bézier curve."""
NEAR = 8.0
"""Two links that begin or end at one port may touch this close to it."""


def curves(elements: Sequence[Element]) -> list[tuple[Point, ...]]:
    """Control points of every link that is drawn."""
    lines = (one.attributes.get("d") for one in all_of(elements) if one.tag == "path")
    return [tuple(line.points) for line in lines if isinstance(line, LinkCurve)]


def crossings(paths: Sequence[Sequence[Point]]) -> int:
    """How many times links cross each other.

    Examples:
        >>> down = [(0, 0), (0, 1), (0, 2), (0, 40)]
        >>> over = [(-20, 20), (-10, 20), (10, 20), (20, 20)]
        >>> crossings([down, over]), crossings([down, down])
        (1, 0)
    """
    drawn = [(list(_line(path)), path) for path in paths]
    return sum(
        1
        for (one, start), (other, end) in combinations(drawn, 2)
        if _may_meet(start, end)
        for at in _meetings(one, other)
        if not _is_shared_end(at, start, end)
    )


def _line(path: Sequence[Point]) -> Iterator[Segment]:
    """A curve as straight pieces."""
    yield from pairwise(points_along(path))


def points_along(path: Sequence[Point]) -> list[Point]:
    """Points of a curve, from its control points."""
    points = [path[0]]
    for i in range(0, len(path) - 1, 3):
        a, b, c, d = path[i : i + 4]
        for k in range(1, PIECES + 1):
            t = k / PIECES
            w = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            x, y = (w[0] * a[n] + w[1] * b[n] + w[2] * c[n] + w[3] * d[n] for n in (0, 1))
            points.append((x, y))
    return points


def _may_meet(one: Sequence[Point], other: Sequence[Point]) -> bool:
    return all(
        min(p[n] for p in one) <= max(p[n] for p in other)
        and min(p[n] for p in other) <= max(p[n] for p in one)
        for n in (0, 1)
    )


def _meetings(one: Sequence[Segment], other: Sequence[Segment]) -> Iterator[Point]:
    for (ax, ay), (bx, by) in one:
        for (cx, cy), (dx, dy) in other:
            if max(ax, bx) < min(cx, dx) or max(cx, dx) < min(ax, bx):
                continue
            cross = (bx - ax) * (dy - cy) - (by - ay) * (dx - cx)
            if abs(cross) < 1e-9:
                continue
            t = ((cx - ax) * (dy - cy) - (cy - ay) * (dx - cx)) / cross
            u = ((cx - ax) * (by - ay) - (cy - ay) * (bx - ax)) / cross
            if 0 <= t < 1 and 0 <= u < 1:
                yield ax + t * (bx - ax), ay + t * (by - ay)


def _is_shared_end(at: Point, one: Sequence[Point], other: Sequence[Point]) -> bool:
    ends = [
        p
        for p in (one[0], one[-1])
        for q in (other[0], other[-1])
        if hypot(p[0] - q[0], p[1] - q[1]) < 1
    ]
    return any(hypot(at[0] - p[0], at[1] - p[1]) < NEAR for p in ends)
