"""Memory over the steps of a recording as a curve, with the lines of code under it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from gradviz.model.holding import Curve, CurvePoint, Memory
from gradviz.view import phrases
from gradviz.view.figure import svg, text
from gradviz.view.text import clean, px, shorten, width_of, xml

WIDTH: Final = 720.0
LEFT: Final = 76.0
"""Room for amounts at the axis."""
RIGHT: Final = 12.0
TITLE: Final = 20.0
MARK: Final = 17.0
"""Height of a line that says what is marked."""
PANELS: Final = (130.0, 70.0)
"""Heights of the curve and of the one below it."""
BETWEEN: Final = 24.0
RUNS: Final = 240
"""Most stretches of one line that are told apart under the curve."""
_BESIDE: Final = {
    "allocated": "torch.cuda.memory_allocated()",
    "live": "all live tensors that the recording knows",
}
_RULES: Final = """
.gv-curve text{font-family:%FONT%;font-size:11px;fill:$ink}
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


@dataclass(frozen=True, slots=True)
class Run:
    """Steps that follow each other at one line."""

    first: int
    last: int
    line: int | None
    """Number of the line, ``None`` outside of the recorded code."""
    words: str
    """Which line it is, and what is written there."""
    is_backward: bool
    """Whether backward ran there, node by node."""


def curve(memory: Memory) -> str:
    """Draw what is kept after every step as SVG text, ``""`` if it was not recorded.

    Examples:
        >>> from gradviz.model.holding import CurvePoint
        >>> point = CurvePoint(0, 0, None, "", "", 4, None)
        >>> over = Curve((point,), 0, "live")
        >>> curve(Memory("", (), (), None, (), (), step=0, curve=over)).count("gv-kept")
        2
    """
    found = memory.curve
    if found is None:
        return ""
    grid = _Grid(len(found.points))
    marked = list(_marked(memory, found))
    top = TITLE + MARK * len(marked) + 6
    beside = [point.beside for point in found.points]
    panels = [("kept for backward", [point.held for point in found.points], "gv-kept", top)]
    if any(beside):
        below = top + PANELS[0] + BETWEEN
        panels.append((_BESIDE[found.beside], beside, "gv-beside", below))
    lines: list[str] = []
    for (title, amounts, name, start), height in zip(panels, PANELS):
        lines.append(text(LEFT, TITLE - 6 if name == "gv-kept" else start - 6, title, "gv-strong"))
        lines += _shades(found.points, grid, start, height)
        lines += _panel(amounts, name, start, height, grid)
        lines += [_line(css, grid.middle(step), start, height) for css, _, step in marked]
        bottom = start + height
    for row, (css, words, step) in enumerate(marked):
        lines += _mark(css, words, grid.middle(step), TITLE + MARK * row, top)
    lines += _under(list(_runs(found.points)), grid, top, bottom)
    return svg("gv-curve", (WIDTH, bottom + 34), _said(found), _RULES, lines)


class _Grid:
    """Where a step stands: each has a stretch of its own."""

    def __init__(self, steps: int) -> None:
        self._wide = (WIDTH - LEFT - RIGHT) / max(1, steps)

    def start(self, step: int) -> float:
        return round(LEFT + step * self._wide, 1)

    def middle(self, step: int) -> float:
        return round(LEFT + (step + 0.5) * self._wide, 1)


def _panel(
    amounts: Sequence[int | None], name: str, top: float, height: float, grid: _Grid
) -> Iterator[str]:
    """A curve with its axis: the greatest amount, half of it and nothing."""
    most = max((amount for amount in amounts if amount is not None), default=0)
    bottom = top + height
    for share, amount in ((1.0, most), (0.5, most // 2), (0.0, 0)):
        if amount or share == 0.0:
            y = bottom - share * height
            yield text(LEFT - 6, y + 4, phrases.size(amount), "gv-amount", "end")
            yield f'<path class="gv-tick" d="M{px(LEFT)} {px(y)}H{px(WIDTH - RIGHT)}"/>'
    pieces = list(_pieces(amounts, bottom, height / (most or 1), grid))
    if name == "gv-kept":
        yield from (
            f'<path class="gv-area" d="M{px(start)} {px(bottom)}V{rest}V{px(bottom)}Z"/>'
            for start, rest in pieces
        )
    for start, rest in pieces:
        yield f'<path class="{name}" d="M{px(start)} {rest}"/>'
    yield f'<path class="gv-axis" d="M{px(LEFT)} {px(top)}V{px(bottom)}H{px(WIDTH - RIGHT)}"/>'


def _pieces(
    amounts: Sequence[int | None], bottom: float, scale: float, grid: _Grid
) -> Iterator[tuple[float, str]]:
    """Where each unbroken stretch starts, and its way: height, then along and up or down."""
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


def _shades(points: Sequence[CurvePoint], grid: _Grid, top: float, height: float) -> Iterator[str]:
    """Another ground where backward runs, node by node."""
    for is_inside, group in groupby(points, key=lambda point: point.level > 0):
        steps = [point.step for point in group]
        if is_inside:
            x, end = grid.start(steps[0]), grid.start(steps[-1] + 1)
            yield (
                f'<rect class="gv-inside" x="{px(x)}" y="{px(top)}" width="{px(end - x)}" '
                f'height="{px(height)}"><title>backward runs</title></rect>'
            )


def _marked(memory: Memory, found: Curve) -> Iterator[tuple[str, str, int]]:
    """The peak, and the step that was counted if that is another: class, words and step."""
    peak = found.points[found.peak]
    if peak.held:
        yield "gv-peak", f"peak: {_amount(peak)}", peak.step
    if memory.step is not None and memory.step != found.peak:
        yield "gv-counted", f"counted: {_amount(found.points[memory.step])}", memory.step


def _amount(point: CurvePoint) -> str:
    return f"{phrases.size(point.held)} at step {point.step}{_at(point)}"


def _at(point: CurvePoint) -> str:
    return f", {_place(point)}" if point.line is not None else ""


def _line(css: str, x: float, top: float, height: float) -> str:
    return f'<path class="{css}" d="M{px(x)} {px(top)}v{px(height)}"/>'


def _mark(css: str, words: str, x: float, y: float, top: float) -> Iterator[str]:
    """Words above a marked step, with an arrow head at the curve."""
    wide = width_of(words, 11)
    is_left = x + 10 + wide > WIDTH
    yield text(x - 7 if is_left else x + 7, y + 10, words, "gv-strong", "end" if is_left else "")
    yield f'<path class="{css}" d="M{px(x)} {px(y)}V{px(top)}"/>'
    if css == "gv-peak":
        yield f'<path class="gv-peak-sign" d="M{px(x - 4)} {px(top - 7)}h8l-4 7z"/>'


def _runs(points: Sequence[CurvePoint]) -> Iterator[Run]:
    """Steps in stretches of one line; the steps of a backward belong to the line that called it."""
    for (code, line), group in groupby(points, key=lambda point: (point.code, point.line)):
        steps = list(group)
        words = "before the first line" if line is None else _place(steps[0])
        if steps[0].text:
            words += f": {clean(steps[0].text)}"
        number = None if code else line
        is_backward = any(point.level for point in steps)
        yield Run(steps[0].step, steps[-1].step, number, words, is_backward)


def _place(point: CurvePoint) -> str:
    where = f"{clean(point.code)} " if point.code else ""
    return f"{where}line {point.line}"


def _under(runs: Sequence[Run], grid: _Grid, top: float, bottom: float) -> Iterator[str]:
    """Numbers of lines and steps, and for the pointer what each stretch is."""
    yield text(LEFT - 6, bottom + 14, "line", "gv-amount", "end")
    yield text(LEFT - 6, bottom + 28, "step", "gv-amount", "end")
    for x, label in _labels(runs, grid):
        yield text(x, bottom + 14, label, "gv-amount", "middle")
    for run in runs if len(runs) <= RUNS else ():
        x, end = grid.start(run.first), grid.start(run.last + 1)
        steps = f"step {run.first}" + (f" to {run.last}" if run.last > run.first else "")
        yield (
            f'<rect class="gv-run" x="{px(x)}" y="{px(top)}" width="{px(end - x)}" '
            f'height="{px(bottom - top + 18)}">'
            f"<title>{xml(f'{steps}, {shorten(run.words, 120)}')}</title></rect>"
        )
    last = runs[-1].last if runs else 0
    for step in dict.fromkeys((0, last // 2, last)):
        yield text(grid.middle(step), bottom + 28, str(step), "gv-amount", "middle")


def _labels(runs: Sequence[Run], grid: _Grid) -> Iterator[tuple[float, str]]:
    """Where numbers of lines stand: one per stretch, or from and to where it is crowded."""

    def is_crowded(run: Run) -> bool:
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


def _said(found: Curve) -> str:
    peak, last = found.points[found.peak], found.points[-1]
    return (
        f"Bytes kept for backward over {phrases.plural(len(found.points), 'step')}: most at step "
        f"{peak.step}{_at(peak)}, {phrases.size(peak.held)}; after the last step "
        f"{phrases.size(last.held)}."
    )
