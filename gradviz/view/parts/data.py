"""Parts as plain data for the browser; ``widgets/src/documents/parts.ts`` describes the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Final

from gradviz.model.report import Block, Cell, TableLine
from gradviz.model.sentence import Sentence, Term
from gradviz.view.parts.part import Rows
from gradviz.view.parts.table import cells_of, left_out
from gradviz.view.text import clean

ROWS: Final = 2000
"""How many rows of a table the browser gets; a line says how many it does not."""
FOLDED_ROWS: Final = 5000
"""The same, with the blocks, of a table with blocks, of which the open ones are drawn."""
_LARGEST: Final = 1.7976931348623157e308


def as_data(value: Any) -> Any:
    """A part, or parts: each an object whose ``"is"`` says what it is.

    Examples:
        >>> from gradviz.model.sentence import Sentence, Term
        >>> from gradviz.view.parts.part import Paragraph
        >>> as_data(Paragraph(Sentence(Term("t0", "a"), " was written.")))["words"]
        [{'id': 't0', 'text': 'a'}, ' was written.']
    """
    if isinstance(value, Sentence):
        return segments(value)
    if isinstance(value, (tuple, list)):
        return [*map(as_data, value)]
    if isinstance(value, Rows):
        return _table(value)
    if not is_dataclass(value):
        return value
    sent = [one.name for one in fields(value) if "only in" not in one.metadata]
    return {"is": type(value).__name__, **{name: as_data(getattr(value, name)) for name in sent}}


def segments(sentence: Sentence) -> list[Any]:
    """A clean sentence: text, and terms with their ids."""
    return [one if isinstance(one, str) else _term(one) for one in sentence.parts]


def _term(term: Term) -> dict[str, Any]:
    return {name: value for name, value in asdict(term).items() if value is not None}


def _table(part: Rows) -> dict[str, Any]:
    table = part.table
    lines = _sent(list(table.lines(closed=True)), FOLDED_ROWS if table.members else ROWS)
    missing = len(table.rows) - sum(isinstance(line.member, int) for line in lines)
    return {
        "is": "Rows",
        "caption": clean(table.caption),
        "columns": [
            {"name": clean(c.name), "kind": c.kind, "help": clean(c.help)} for c in table.columns
        ],
        "rows": [_row(part, line) for line in lines],
        "more": left_out(missing),
    }


def _sent(lines: Sequence[TableLine], most: int) -> Sequence[TableLine]:
    """The lines that are sent, in their order: of too many those of the outer blocks first."""
    if len(lines) <= most:
        return lines
    outer = sorted(range(len(lines)), key=lambda place: lines[place].level)
    return [lines[place] for place in sorted(outer[:most])]


def _row(part: Rows, line: TableLine) -> dict[str, Any]:
    """A row; one of a table with blocks has its level, a block also the number of its rows."""
    table, id_ = part.table, part.id(line)
    pairs = zip(cells_of(table, line), table.cells(line), strict=True)
    cells = [{"text": text, "sort": _sort_key(cell)} for text, cell in pairs]
    row: dict[str, Any] = {"id": id_, "mark": part.marks.get(id_, ""), "cells": cells}
    if table.members:
        row["level"] = line.level
    if isinstance(line.member, Block):
        row |= {"inside": len(line.member.rows), "open": line.member.is_open}
    return row


def _sort_key(cell: Cell) -> str | int | float | None:
    """The sort key of a cell; nan, which JSON lacks, is sorted as not known."""
    if isinstance(cell, bool):
        return int(cell)
    if isinstance(cell, float):
        return None if math.isnan(cell) else max(-_LARGEST, min(cell, _LARGEST))
    return clean(cell) if isinstance(cell, str) else cell
