"""The axis under a curve of memory: steps and lines of code, each with its stretch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Final

from gradviz.model.memory import CurvePoint
from gradviz.view.element import Element
from gradviz.view.figures.figure import text, title
from gradviz.view.text import clean, shorten, width_of

WIDTH: Final = 720.0
LEFT: Final = 76.0
"""Room for amounts at the axis."""
RIGHT: Final = 12.0
BELOW: Final = 38.0
"""Height of both lines under the curve."""
RUNS: Final = 240
"""Most stretches that have a tooltip."""


@dataclass(frozen=True, slots=True)
class LineRun:
    """Steps that follow each other at one line."""

    first: int
    last: int
    line: int | None
    """Number of the line, ``None`` outside of the recorded code."""
    words: str
    """Which line it is, and what is written there."""
    is_backward: bool
    """Whether backward ran there, node by node."""


class Grid:
    """The place of a step: each has a stretch of its own.

    A backward has many steps and one line: its steps take at most two thirds of the width as
    long as a line's own step would be narrower than that.
    """

    def __init__(self, points: Sequence[CurvePoint]) -> None:
        inside = sum(point.level > 0 for point in points)
        line = max(1.0, inside / (2.0 * max(1, len(points) - inside)))
        wide = [1.0 if point.level else line for point in points]
        unit = (WIDTH - LEFT - RIGHT) / (sum(wide) or 1.0)
        self._starts = [LEFT + unit * before for before in accumulate(wide, initial=0.0)]
        self.numbers: tuple[int | str, ...] = tuple(point.number for point in points)
        """The number of each step, as the player shows it."""

    def start(self, step: int) -> float:
        """Where a step begins."""
        return round(self._starts[step], 1)

    def middle(self, step: int) -> float:
        """The middle of a step."""
        return round((self._starts[step] + self._starts[step + 1]) / 2, 1)


def runs_of(points: Sequence[CurvePoint]) -> Iterator[LineRun]:
    """Steps in stretches of one line; the steps of a backward belong to the line that called it."""
    for (code, line), group in groupby(points, key=lambda point: (point.code, point.line)):
        steps = list(group)
        words = "before the first line" if line is None else place_of(steps[0])
        if steps[0].text:
            words += f": {clean(steps[0].text)}"
        number = None if code else line
        is_backward = any(point.level for point in steps)
        yield LineRun(steps[0].step, steps[-1].step, number, words, is_backward)


def place_of(point: CurvePoint) -> str:
    """``"line 3"``, of another file ``"net.py line 3"``."""
    where = f"{clean(point.code)} " if point.code else ""
    return f"{where}line {point.line}"


def under(runs: Sequence[LineRun], grid: Grid, top: float, bottom: float) -> Iterator[Element]:
    """Numbers of lines and steps, and a tooltip for each stretch."""
    yield text(LEFT - 6, bottom + 17, "line", "gv-amount", "end")
    yield text(LEFT - 6, bottom + 31, "step", "gv-amount", "end")
    for x, label in _labels(runs, grid):
        yield text(x, bottom + 17, label, "gv-amount", "middle")
    for run in runs if len(runs) <= RUNS else ():
        x, end = grid.start(run.first), grid.start(run.last + 1)
        steps = f"step {grid.numbers[run.first]}"
        steps += f" to {grid.numbers[run.last]}" if run.last > run.first else ""
        room = {"x": x, "y": top, "width": end - x, "height": bottom - top + 21}
        words = title(f"{steps}, {shorten(run.words, 120)}")
        yield Element("rect", {"class": "gv-run", **room}, (words,))
    steps_only = [at for at, number in enumerate(grid.numbers) if isinstance(number, int)]
    for at in dict.fromkeys((0, len(steps_only) // 2, len(steps_only) - 1)):
        step = steps_only[at]
        yield text(grid.middle(step), bottom + 31, str(grid.numbers[step]), "gv-amount", "middle")


def _labels(runs: Sequence[LineRun], grid: Grid) -> Iterator[tuple[float, str]]:
    """The places of line numbers: one per stretch, or a range where it is crowded."""

    def is_crowded(run: LineRun) -> bool:
        room = grid.start(run.last + 1) - grid.start(run.first)
        return width_of(str(run.line), 10) + 3 > room

    for crowded, group in groupby((r for r in runs if r.line is not None), key=is_crowded):
        members = list(group)
        together = [members] if crowded else [[run] for run in members]
        for some in together:
            numbers = [run.line for run in some if run.line is not None]
            low, high = min(numbers), max(numbers)
            label = str(low) if low == high else f"{low}–{high}"
            backward = f"{label} backward" if len(some) == 1 and some[0].is_backward else label
            x, end = grid.start(some[0].first), grid.start(some[-1].last + 1)
            for words in dict.fromkeys((backward, label)):
                if width_of(words, 10) <= end - x + 4:
                    yield (x + end) / 2, words
                    break
