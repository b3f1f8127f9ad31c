"""Memory over the steps of a recording as a curve, with the lines of code under it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from gradviz.model.memory import Curve, CurvePoint, Memory
from gradviz.view import formatting
from gradviz.view.element import Element
from gradviz.view.figures.curve_runs import (
    BELOW,
    LEFT,
    RIGHT,
    WIDTH,
    Grid,
    place_of,
    runs_of,
    under,
)
from gradviz.view.figures.figure import Figure, path, text, title
from gradviz.view.text import px

TITLE: Final = 20.0
MARK: Final = 17.0
"""Height of a line that says what is marked."""
PANELS: Final = (130.0, 70.0)
"""Heights of the curve and of the one below it."""
BETWEEN: Final = 24.0
_BESIDE: Final = {
    "allocated": "torch.cuda.memory_allocated()",
    "live": "all live tensors that the recording knows",
}
_RULES: Final = """
.gv-curve text{font-family:$font;font-size:11px;fill:$ink}
.gv-curve .gv-amount{fill:$muted;font-size:10px}
.gv-curve .gv-strong{font-weight:600}
.gv-curve path{fill:none;stroke-width:1.8}
.gv-curve .gv-area{fill:$held-fill;stroke:none}
.gv-curve .gv-kept{stroke:$held}
.gv-curve .gv-beside{stroke:$muted;stroke-dasharray:6 3}
.gv-curve .gv-axis{stroke:$line;stroke-width:.8}
.gv-curve .gv-tick{stroke:$line;stroke-width:.6;stroke-dasharray:2 3}
.gv-curve .gv-peak{stroke:$modified;stroke-width:1.6}
.gv-curve .gv-counted{stroke:$ink;stroke-width:1.2;stroke-dasharray:3 3}
.gv-curve .gv-peak-sign{fill:$modified;stroke:none}
.gv-curve .gv-inside{fill:$head;stroke:none}
.gv-curve .gv-run{fill:none;stroke:none;pointer-events:all}
"""
_Marked: TypeAlias = tuple[str, str, int]
"""Class, words and step."""
_Drawn: TypeAlias = "tuple[str, Sequence[int | None], str, float]"
"""Title, amounts, class and upper edge of a panel."""


def curve(memory: Memory) -> Figure | None:
    """Draw the bytes kept after every step; ``None`` if they were not recorded.

    Examples:
        >>> from gradviz.model.memory import CurvePoint
        >>> point = CurvePoint(0, 0, None, "", "", 4, None, 0)
        >>> over = Curve((point,), 0, "live")
        >>> curve(Memory("", (), (), None, (), (), step=0, curve=over)).svg().count("gv-kept")
        2
    """
    found = memory.curve
    if found is None:
        return None
    grid = Grid(found.points)
    marked = list(_marked(memory, found))
    top = TITLE + MARK * len(marked) + 6
    beside = [point.beside for point in found.points]
    held = [point.held for point in found.points]
    panels: list[_Drawn] = [("kept for backward", held, "gv-kept", top)]
    if any(beside):
        below = top + PANELS[0] + BETWEEN
        panels.append((_BESIDE[found.beside], beside, "gv-beside", below))
    lines: list[Element] = []
    for (words, amounts, name, start), height in zip(panels, PANELS):
        lines.append(text(LEFT, TITLE - 6 if name == "gv-kept" else start - 6, words, "gv-strong"))
        lines += _shades(found.points, grid, start, height)
        lines += _panel(amounts, name, start, height, grid)
        lines += [_line(css, grid.middle(step), start, height) for css, _, step in marked]
        bottom = start + height
    for row, (css, words, step) in enumerate(marked):
        lines += _mark(css, words, grid.middle(step), TITLE + MARK * row, top)
    lines += under(list(runs_of(found.points)), grid, top, bottom)
    return Figure("gv-curve", (WIDTH, bottom + BELOW), _said(found), _RULES, tuple(lines))


def _panel(
    amounts: Sequence[int | None], name: str, top: float, height: float, grid: Grid
) -> Iterator[Element]:
    """A curve with its axis: the greatest amount, half of it and nothing."""
    most = max((amount for amount in amounts if amount is not None), default=0)
    bottom = top + height
    for amount in dict.fromkeys((most, most // 2, 0)):
        y = bottom - amount * height / (most or 1)
        yield text(LEFT - 6, y + 4, formatting.size(amount), "gv-amount", "end")
        yield path("gv-tick", f"M{px(LEFT)} {px(y)}H{px(WIDTH - RIGHT)}")
    pieces = list(_pieces(amounts, bottom, height / (most or 1), grid))
    if name == "gv-kept":
        yield from (
            path("gv-area", f"M{px(start)} {px(bottom)}V{rest}V{px(bottom)}Z")
            for start, rest in pieces
        )
    for start, rest in pieces:
        yield path(name, f"M{px(start)} {rest}")
    yield path("gv-axis", f"M{px(LEFT)} {px(top)}V{px(bottom)}H{px(WIDTH - RIGHT)}")


def _pieces(
    amounts: Sequence[int | None], bottom: float, scale: float, grid: Grid
) -> Iterator[tuple[float, str]]:
    """The start of each unbroken stretch, and its path: height, then along and up or down."""
    for is_known, group in groupby(enumerate(amounts), key=lambda pair: pair[1] is not None):
        if not is_known:
            continue
        steps = list(group)
        start, way, before = grid.start(steps[0][0]), "", None
        for step, amount in steps:
            y = px(bottom - (amount or 0) * scale)
            if y != before:
                way += f"H{px(grid.start(step))}V{y}" if before is not None else y
            before = y
        yield start, f"{way}H{px(grid.start(steps[-1][0] + 1))}"


def _shades(
    points: Sequence[CurvePoint], grid: Grid, top: float, height: float
) -> Iterator[Element]:
    """Another background where backward runs, node by node."""
    for is_inside, group in groupby(points, key=lambda point: point.level > 0):
        steps = [point.step for point in group]
        if is_inside:
            x, end = grid.start(steps[0]), grid.start(steps[-1] + 1)
            ground = {"x": x, "y": top, "width": end - x, "height": height}
            yield Element("rect", {"class": "gv-inside", **ground}, (title("backward runs"),))


def _marked(memory: Memory, found: Curve) -> Iterator[_Marked]:
    """The peak, and the step that was counted if that is another."""
    peak = found.points[found.peak]
    if peak.held:
        yield "gv-peak", f"peak: {_amount(peak)}", peak.step
    if memory.step is not None and memory.step != found.peak:
        yield "gv-counted", f"counted: {_amount(found.points[memory.step])}", memory.step


def _amount(point: CurvePoint) -> str:
    return f"{formatting.size(point.held)} at step {point.number}{_at(point)}"


def _at(point: CurvePoint) -> str:
    return f", {place_of(point)}" if point.line is not None else ""


def _line(css: str, x: float, top: float, height: float) -> Element:
    return path(css, f"M{px(x)} {px(top)}v{px(height)}")


def _mark(css: str, words: str, x: float, y: float, top: float) -> Iterator[Element]:
    """Words in a line of their own, beside a piece of the line that they are about."""
    yield path(css, f"M{px(LEFT + 5)} {px(y)}v13")
    yield text(LEFT + 14, y + 11, words, "gv-strong")
    if css == "gv-peak":
        yield path("gv-peak-sign", f"M{px(LEFT + 1)} {px(y + 6)}h8l-4 7z")
        yield path("gv-peak-sign", f"M{px(x - 4)} {px(top - 7)}h8l-4 7z")


def _said(found: Curve) -> str:
    peak, last = found.points[found.peak], found.points[-1]
    count = sum(isinstance(point.number, int) for point in found.points) - 1
    return (
        f"Bytes kept for backward over {formatting.plural(count, 'step')}: most at step "
        f"{peak.number}{_at(peak)}, {formatting.size(peak.held)}; after the last step "
        f"{formatting.size(last.held)}."
    )
