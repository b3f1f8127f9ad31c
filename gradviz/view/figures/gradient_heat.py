"""Norms of gradients as a heat map: a row per block of parameters, a column per backward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import Final

from gradviz.model.gradient_flow import BackwardFlow, GradientFlow, ParameterFlow, norm_of
from gradviz.model.report import Block, Table
from gradviz.view import formatting
from gradviz.view.element import Element, Value
from gradviz.view.figures.figure import Figure, fitting, path, text, title
from gradviz.view.text import clean, px, width_of

WIDTH: Final = 332.0
"""So narrow that it fits a telephone without being made smaller."""
NAMES: Final = 112.0
"""Room for the names of rows."""
HEAD: Final = 34.0
ROW: Final = 17.0
MOST: Final = 40
"""Columns; of more backwards, several are one column."""
SHADES: Final = 6
WIDEST: Final = 34.0
"""Width that a cell has at most."""
_RULES: Final = """
.gv-heat text{font-family:$font;font-size:11px;fill:$ink}
.gv-heat .gv-amount{fill:$muted;font-size:10px}
.gv-heat .gv-mark{font-size:10px;font-weight:600}
.gv-heat rect{stroke:$line;stroke-width:.5}
.gv-heat .gv-shade{fill:$held}
.gv-heat .gv-zero{fill:$card}
.gv-heat .gv-broken{fill:$modified-fill;stroke:$modified;stroke-width:1}
.gv-heat .gv-unknown{fill:$head;stroke-dasharray:2 2}
.gv-heat .gv-none{stroke:$line;stroke-width:1}
"""


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    rows: list[ParameterFlow]


def heat_of(flow: GradientFlow) -> tuple[tuple[str, Figure], ...]:
    """The figure of a report with its caption."""
    drawn = gradient_heat(flow)
    return () if drawn is None else (("Norms of gradients by backward", drawn),)


def gradient_heat(flow: GradientFlow) -> Figure | None:
    """Draw the norms; ``None`` if no backward gave a gradient.

    Examples:
        >>> from gradviz.model.report import Column
        >>> row = ParameterFlow("w", "t0", (2,), (1.0, 0.0), (True, True))
        >>> table = Table("", (Column("parameter"),), (("w",),))
        >>> backwards = tuple(BackwardFlow(n, None, 1, 1.0) for n in (1, 2))
        >>> heat = gradient_heat(GradientFlow("", (), (table,), (row,), backwards))
        >>> heat.svg().count('class="gv-zero"')
        1
    """
    if not flow.backwards or not any(any(row.given) for row in flow.parameters):
        return None
    rows = list(_rows(flow.tables[0], flow.parameters))
    columns = _columns(len(flow.backwards))
    values = [[_cell(row.rows, column) for column in columns] for row in rows]
    known = [v for line in values for v in line if isinstance(v, float) and isfinite(v) and v > 0]
    low, high = (log10(min(known)), log10(max(known))) if known else (0.0, 0.0)
    wide = min(WIDEST, (WIDTH - NAMES - 4) / len(columns))
    parts: list[Element] = [text(NAMES, 12, "backward", "gv-amount")]
    parts += _heads(flow.backwards, columns, wide)
    for at, (row, line) in enumerate(zip(rows, values, strict=True)):
        y = HEAD + at * ROW
        parts.append(text(NAMES - 6, y + 12, fitting(row.label, NAMES - 8), "", "end"))
        for place, value in enumerate(line):
            x = NAMES + place * wide
            words = _words(row.label, flow.backwards, columns[place], value)
            parts.append(_drawn(x, y, wide, value, (low, high), words))
    bottom = HEAD + len(rows) * ROW
    parts += _skipped(flow.backwards, columns, wide, bottom)
    if any(one.is_skipped for one in flow.backwards):
        bottom += ROW
    parts += _legend(values, (low, high), bottom + 8)
    return Figure("gv-heat", (WIDTH, bottom + 48), _said(flow, known), _RULES, tuple(parts))


def _rows(table: Table, parameters: Sequence[ParameterFlow]) -> Iterator[_Row]:
    """The rows and blocks that the table shows at first."""
    for line in table.lines():
        member = line.member
        if isinstance(member, Block):
            yield _Row(clean(str(member.cells[0])), [parameters[row] for row in member.rows])
        else:
            yield _Row(clean(parameters[member].name), [parameters[member]])


def _columns(count: int) -> list[range]:
    """The backwards of each column, by their places."""
    size = -(-count // MOST)
    return [range(at, min(at + size, count)) for at in range(0, count, size)]


def _cell(rows: Sequence[ParameterFlow], column: range) -> float | bool | None:
    """The largest norm; ``None``: no gradient, ``False``: one that is not recorded."""
    if not any(row.given[place] for row in rows for place in column):
        return None
    norms = [norm_of(rows, place) for place in column]
    known = [norm for norm in norms if norm is not None]
    if not known:
        return False
    broken = [norm for norm in known if not isfinite(norm)]
    return broken[0] if broken else max(known)


def _heads(
    backwards: Sequence[BackwardFlow], columns: Sequence[range], wide: float
) -> Iterator[Element]:
    """Numbers of backwards, as many as there is room for."""
    every = max(1, -(-22 // max(1, int(wide))))
    for place in range(0, len(columns), every):
        number = backwards[columns[place][0]].number
        x = NAMES + (place + 0.5) * wide
        yield text(x, HEAD - 8, str(number), "gv-amount", "middle")


def _drawn(
    x: float,
    y: float,
    wide: float,
    value: float | bool | None,
    limits: tuple[float, float],
    words: str,
) -> Element:
    box: dict[str, Value] = {
        "x": x + 0.5,
        "y": y + 0.5,
        "width": max(1.0, wide - 1),
        "height": ROW - 1,
    }
    middle = x + wide / 2
    mark = ""
    if value is None:
        line = path("gv-none", f"M{px(middle - 2)} {px(y + ROW / 2)}h4")
        return Element("g", {}, (title(words), line))
    if value is False:
        name = "gv-unknown"
        mark = "?"
    elif not isfinite(value):
        name, mark = "gv-broken", "!"
    elif value == 0:
        name, mark = "gv-zero", "0"
    else:
        shade = {**box, "class": "gv-shade", "fill-opacity": _shade(value, limits)}
        return Element("g", {}, (title(words), Element("rect", shade)))
    inside = [title(words), Element("rect", {"class": name, **box})]
    if wide >= 9:
        inside.append(text(middle, y + 12, mark, "gv-mark", "middle"))
    return Element("g", {}, tuple(inside))


def _shade(value: float, limits: tuple[float, float]) -> str:
    low, high = limits
    part = (log10(value) - low) / (high - low) if high > low else 1.0
    step = min(SHADES - 1, floor(part * SHADES))
    return f"{0.12 + 0.88 * step / (SHADES - 1):.2f}"


def _skipped(
    backwards: Sequence[BackwardFlow], columns: Sequence[range], wide: float, y: float
) -> Iterator[Element]:
    """A row for the steps that were skipped."""
    if not any(one.is_skipped for one in backwards):
        return
    yield text(NAMES - 6, y + 12, "step skipped", "", "end")
    for place, column in enumerate(columns):
        if any(backwards[at].is_skipped for at in column):
            yield text(NAMES + (place + 0.5) * wide, y + 12, "×", "gv-mark", "middle")


def _legend(
    values: Sequence[Sequence[float | bool | None]], limits: tuple[float, float], y: float
) -> Iterator[Element]:
    """What the shades mean, and the marks that are there."""
    known = [value for line in values for value in line]
    low, high = limits
    x = 4.0
    is_any = any(isinstance(v, float) and isfinite(v) and v > 0 for v in known)
    if is_any:
        least = f"norm {formatting.number(10**low)}"
        yield text(x, y + 11, least, "gv-amount")
        x += width_of(least, 10) + 8
        for step in range(SHADES):
            shade = f"{0.12 + 0.88 * step / (SHADES - 1):.2f}"
            box = {"x": x, "y": y + 1, "width": 16.0, "height": 12.0}
            yield Element("rect", {"class": "gv-shade", **box, "fill-opacity": shade})
            x += 16
        yield text(x + 6, y + 11, f"{formatting.number(10**high)}, logarithmic", "gv-amount")
    marks = []
    if any(value is None for value in known):
        marks.append("– no gradient")
    if any(value == 0 and value is not False and value is not None for value in known):
        marks.append("0 all zeros")
    if any(isinstance(value, float) and not isfinite(value) for value in known):
        marks.append("! nan or inf")
    if any(value is False for value in known):
        marks.append("? not recorded")
    x = 4.0
    for words in marks:
        yield text(x, y + 29, words, "gv-amount")
        x += width_of(words, 10) + 16


def _words(
    label: str, backwards: Sequence[BackwardFlow], column: range, value: float | bool | None
) -> str:
    first, last = backwards[column[0]], backwards[column[-1]]
    which = f"backward {first.number}"
    if last is not first:
        which = f"backwards {first.number} to {last.number}, the largest"
    elif first.at is not None and first.at.line is not None:
        which += f", line {first.at.line}"
    if value is None:
        found = "no gradient"
    elif value is False:
        found = "norm not recorded: record(values=True)"
    elif not isfinite(value):
        found = "nan or inf"
    else:
        found = f"norm {formatting.number(value)}"
    return f"{label}, {which}: {found}"


def _said(flow: GradientFlow, known: Sequence[float]) -> str:
    count = formatting.plural(len(flow.backwards), "backward")
    limits = ""
    if known:
        limits = f": norms from {formatting.number(min(known))} to {formatting.number(max(known))}"
    return f"Norms of gradients over {count}, a row per block of parameters{limits}."
