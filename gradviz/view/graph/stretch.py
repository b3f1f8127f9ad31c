"""A map of one axis that makes room: places grow apart, and none comes nearer to another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence


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
