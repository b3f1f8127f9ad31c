"""Curves on logarithmic axes, as SVG without another package."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final
from xml.sax.saxutils import escape

Curves = Mapping[str, Sequence[tuple[float, float]]]
WIDTH: Final = 720
HEIGHT: Final = 480
LEFT, RIGHT, TOP, BOTTOM = 70, 130, 40, 50
LINE: Final = 14
"""From one name to the next below it."""
COLOURS: Final = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee",
    "#aa3377", "#222222", "#bb5500", "#777777", "#009988",
)  # fmt: skip


def curves_svg(title: str, across: str, up: str, curves: Curves) -> str:
    """A picture of curves, with a line that is linear growth for comparison.

    Args:
        title: What is above it.
        across: Name of the horizontal axis.
        up: Name of the vertical axis.
        curves: Points of each, all above 0.
    """
    points = [point for curve in curves.values() for point in curve]
    low_x, high_x = _decades([x for x, _ in points])
    low_y, high_y = _decades([y for _, y in points])

    def at(x: float, y: float) -> tuple[float, float]:
        right = (math.log10(x) - low_x) / (high_x - low_x)
        above = (math.log10(y) - low_y) / (high_y - low_y)
        width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return round(LEFT + right * width, 1), round(HEIGHT - BOTTOM - above * height, 1)

    parts = [_text(WIDTH / 2, 22, title, "middle", 15)]
    for power in range(low_x, high_x + 1):
        x, y = at(10.0**power, 10.0**low_y)
        parts += [_line([(x, TOP), (x, y)], "#dddddd", 1)]
        parts += [_text(x, y + 18, f"{10**power:,}", "middle")]
    for power in range(low_y, high_y + 1):
        x, y = at(10.0**low_x, 10.0**power)
        parts += [_line([(x, y), (WIDTH - RIGHT, y)], "#dddddd", 1)]
        parts += [_text(x - 6, y + 4, f"{10.0**power:g}", "end")]
    parts += [_text((WIDTH - RIGHT + LEFT) / 2, HEIGHT - 12, across, "middle")]
    parts += [_text(12, TOP - 12, up)]
    parts += [_linear(at, low_x, high_x, low_y, high_y)]
    ends: list[tuple[float, str, str]] = []
    for (name, curve), colour in zip(curves.items(), COLOURS * len(curves)):
        placed = [at(x, y) for x, y in sorted(curve)]
        parts += [_line(placed, colour, 2)]
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in placed]
        ends.append((placed[-1][1], name, colour))
    below = 0.0
    for end, name, colour in sorted(ends):  # names are in the order in which the curves end
        below = max(end + 4, below + LINE)
        parts += [_text(WIDTH - RIGHT + 10, below, name, colour=colour)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>{"".join(parts)}</svg>\n'
    )


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low = math.floor(math.log10(min(values)))
    return low, max(low + 1, math.ceil(math.log10(max(values))))


def _linear(
    at: Callable[[float, float], tuple[float, float]],
    low_x: int,
    high_x: int,
    low_y: int,
    high_y: int,
) -> str:
    """A dashed line of growth in proportion, from the lower left corner on."""
    power = min(high_x - low_x, high_y - low_y)
    ends = [(10.0**low_x, 10.0**low_y), (10.0 ** (low_x + power), 10.0 ** (low_y + power))]
    placed = [at(x, y) for x, y in ends]
    return _line(placed, "#999999", 1, 'stroke-dasharray="4 4"')


def _line(points: Sequence[tuple[float, float]], colour: str, width: int, more: str = "") -> str:
    text = " ".join(f"{x},{y}" for x, y in points)
    return (
        f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="{width}" {more}/>'
    )


def _text(
    x: float, y: float, text: str, anchor: str = "start", size: int = 12, colour: str = "#222222"
) -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">'
        f"{escape(text)}</text>"
    )
