"""Findings as text: the same sentences and tables in a fixed order, for terminals and diffs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gradviz.model.report import Cell, Column, Report, Table, TableLine
from gradviz.view import formatting
from gradviz.view.text import cells, clean, shorten

ROWS: Final = 40
"""Rows of a table that are printed; a last line counts the rest."""
WIDTH: Final = 40
"""Character cells that one cell of a table may take."""
GAP: Final = "  "
OPEN: Final = "▾ "
CLOSED: Final = "▸ "


def report_text(findings: Report) -> str:
    """Title, sentences and tables.

    Examples:
        >>> from types import SimpleNamespace
        >>> columns = (Column("node"), Column("bytes", "bytes"))
        >>> table = Table("kept", columns, (("ExpBackward0", 50_000), ("MulBackward0", None)))
        >>> print(report_text(SimpleNamespace(title="memory", sentences=(), tables=(table,))))
        memory
        <BLANKLINE>
        kept
        node             bytes
        ExpBackward0  48.8 KiB
        MulBackward0
    """
    head = [clean(findings.title), *map(clean, findings.sentences)]
    return "\n\n".join(["\n".join(head), *map(table_text, findings.tables)])


def table_text(table: Table) -> str:
    """A table with its caption, columns aligned; numbers end where their column ends.

    Of a table with blocks the open ones with their members, and how many rows are in closed ones.
    """
    caption = [clean(table.caption)] if table.caption else []
    if not table.rows:
        return "\n".join((*caption, "no rows"))
    lines = list(table.lines())
    rows = [[column.name for column in table.columns]]
    rows += [cells_of(table, table.cells(line)) for line in lines[:ROWS]]
    shown = [[shorten(clean(cell), WIDTH) for cell in row] for row in rows]
    for line, row in zip(lines, shown[1:]):
        row[0] = indent(table, line) + row[0]
    widths = [max(map(cells, column)) for column in zip(*shown, strict=True)]
    first, *others = table.columns
    aligned = (Column(first.name) if table.members else first, *others)
    written = [_line(row, widths, aligned) for row in shown]
    more = filter(None, [*left_out(len(lines), ROWS), closed_words(_closed(table))])
    return "\n".join((*caption, *written, *more))


def indent(table: Table, line: TableLine) -> str:
    """What comes before the first cell of a row or block."""
    if not table.members:
        return ""
    mark = "" if isinstance(line.member, int) else OPEN if line.member.is_open else CLOSED
    return "  " * (line.level - 1) + mark


def closed_words(count: int) -> str:
    """A line that counts the rows in blocks that are closed at first.

    Examples:
        >>> closed_words(0), closed_words(1)[:31]
        ('', '▸ 1 row is in closed blocks: .r')
    """
    if not count:
        return ""
    verb = "is" if count == 1 else "are"
    return (
        f"{CLOSED}{formatting.plural(count, 'row')} {verb} in closed blocks: .rows of a table has "
        "all, and report.save('rows.csv') writes those of the first table."
    )


def _closed(table: Table) -> int:
    """How many rows are in blocks that are closed at first."""
    return len(table.rows) - sum(isinstance(line.member, int) for line in table.lines())


def cells_of(table: Table, row: tuple[Cell, ...]) -> list[str]:
    """Cells of one row in words, not shortened."""
    return [cell_text(cell, column) for cell, column in zip(row, table.columns, strict=True)]


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


def left_out(count: int, limit: int) -> Iterator[str]:
    """A line for rows that are not shown.

    Examples:
        >>> list(left_out(52, 40)), list(left_out(40, 40))
        (['… and 12 more rows'], [])
    """
    if count > limit:
        yield f"… and {formatting.plural(count - limit, 'more row')}"


def _line(row: list[str], widths: list[int], columns: tuple[Column, ...]) -> str:
    placed = []
    for cell, width, column in zip(row, widths, columns, strict=True):
        space = " " * (width - cells(cell))
        placed.append(space + cell if is_numeric(column) else cell + space)
    return GAP.join(placed).rstrip()
