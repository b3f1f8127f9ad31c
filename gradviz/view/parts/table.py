"""A table in words: cells, and what is left out where not all rows are shown."""

from __future__ import annotations

from typing import Final

from gradviz.model.report import Cell, Column, Table, TableLine
from gradviz.view import formatting
from gradviz.view.text import clean

OPEN: Final = "▾ "
CLOSED: Final = "▸ "


def excerpt(table: Table, most: int) -> tuple[list[tuple[int, str, list[str]]], list[str]]:
    """The first rows that are in no closed block, and in words how many are not among them.

    Args:
        table: The table.
        most: How many rows.

    Returns:
        Of each row how many blocks it is in, the mark of a block, and its cells.
    """
    lines = list(table.lines())
    closed = len(table.rows) - sum(isinstance(line.member, int) for line in lines)
    rows = [(line.level - 1, _mark(line), cells_of(table, line)) for line in lines[:most]]
    return rows, [*filter(None, (left_out(len(lines) - most), _closed_words(closed)))]


def _mark(line: TableLine) -> str:
    member = line.member
    return "" if isinstance(member, int) else OPEN if member.is_open else CLOSED


def cells_of(table: Table, line: TableLine) -> list[str]:
    """Cells of a row in words, not shortened."""
    return [cell_text(*one) for one in zip(table.cells(line), table.columns, strict=True)]


def cell_text(cell: Cell, column: Column) -> str:
    """A cell in words; ``None`` is empty.

    Examples:
        >>> cell_text(50_000, Column("kept", "bytes")), cell_text(1 / 3, Column("norm", "number"))
        ('48.8 KiB', '0.3333')
        >>> cell_text(False, Column("reached", "flag")), cell_text(None, Column("norm", "number"))
        ('no', '')
    """
    if cell is None:
        return ""
    if isinstance(cell, str):
        return clean(cell)
    if isinstance(cell, bool) and column.kind == "flag":
        return "yes" if cell else "no"
    if column.kind == "bytes" and not isinstance(cell, bool):
        return f"{'-' if cell < 0 else ''}{formatting.size(abs(round(cell)))}"
    return formatting.number(cell)


def is_numeric(column: Column) -> bool:
    """Whether cells of a column are aligned at the right."""
    return column.kind in ("number", "bytes")


def left_out(count: int) -> str:
    """A line for rows that are not shown.

    Examples:
        >>> left_out(12), left_out(0)
        ('… and 12 more rows', '')
    """
    return f"… and {formatting.plural(count, 'more row')}" if count > 0 else ""


def _closed_words(count: int) -> str:
    """A line that counts the rows in blocks that are closed at first."""
    if not count:
        return ""
    verb = "is" if count == 1 else "are"
    rows = formatting.plural(count, "row")
    return f"{CLOSED}{rows} {verb} in closed blocks: .rows of the table has all."
