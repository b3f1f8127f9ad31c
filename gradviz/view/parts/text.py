"""Parts as text: what ``print`` writes and nbval compares."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from gradviz.model.report import Table
from gradviz.view.parts.part import (
    Advice,
    Change,
    CodeBlock,
    Details,
    Field,
    FieldList,
    ItemList,
    Paragraph,
    Part,
    Parts,
    Region,
    Rows,
)
from gradviz.view.parts.table import excerpt, is_numeric
from gradviz.view.text import cells, clean, shorten

LINES_FIRST: Final = 5
"""Most lines of a region up to its first advice, with what happened in up to three of them."""
HANGING: Final = "    "
ROWS: Final = 40
"""Rows of a table that are printed; a last line counts the rest."""
CELL: Final = 40
"""Character cells that one cell of a table may take."""


def as_text(parts: Parts) -> str:
    """Parts as lines. Source text is never broken.

    Examples:
        >>> from gradviz.model.sentence import Sentence
        >>> words = Paragraph(Sentence("It works."), "goal")
        >>> print(as_text(Parts(((words, CodeBlock(["x = 1"])),), indent="  ")))
        goal: It works.
          x = 1
    """
    writer = _Text(parts.width, parts.indent)
    written = ("\n".join(chain.from_iterable(map(writer.lines, one))) for one in parts.blocks)
    return "\n\n".join(filter(None, written))


class _Text:
    """Writes parts as lines.

    Args:
        width: Characters of a line; 0: lines are not wrapped.
        indent: What code and items have before them.
    """

    def __init__(self, width: int, indent: str) -> None:
        self._width, self._indent = width, indent

    def lines(self, part: Part) -> Iterator[str]:
        """The lines of a part."""
        match part:
            case Paragraph():
                yield from self._named(part.name, part.words)
            case CodeBlock():
                yield from (f"{self._indent}{line}".rstrip() for line in part.lines)
            case ItemList():
                for item in part.items:
                    yield from self._wrapped(item, self._indent, self._indent)
            case FieldList():
                yield from chain.from_iterable(map(self._field, part.fields))
            case Advice():
                yield from self._advice(part)
            case Details():
                yield from chain.from_iterable(map(self.lines, part.parts))
            case Region():
                yield from self._region(part)
            case Rows():
                yield from _table(part.table)

    def _region(self, region: Region) -> Iterable[str]:
        """What happened, the culprit and the first advice come first, in few lines."""
        written: list[str] = []
        for part in region.parts:
            if isinstance(part, Advice):
                written += self._advice(part, LINES_FIRST - len(written))
            else:
                written += self.lines(part)
        return [*written, *self.lines(FieldList(region.facts))]

    def _advice(self, advice: Advice, room: float = math.inf) -> list[str]:
        """An advice of which as much comes first as there is room for."""
        name, does = advice.name, advice.does
        words = list(self._named(name, does or "type this"))
        changes = list(chain.from_iterable(map(self._change, advice.changes)))
        if len(words) + len(changes) <= room:
            return [*words, *changes]
        about = list(self._named(f"about {advice.short}", does))
        if 0 < len(changes) <= room:
            return [f"{name}: {changes[0].strip()}", *changes[1:], *about]
        below = list(self._named(name, f"{does} (code below)".strip()))
        if len(below) > room:
            below = [*[f"{name}: see below"][: int(max(room, 0))], *about]
        return [*below, f"code of {advice.short}:", *changes]

    def _change(self, change: Change) -> Iterator[str]:
        where, lines = change.where, change.lines
        if where and len(lines) <= 1:
            yield f"{self._indent}{': '.join((where, *lines))}"
            return
        if where:
            yield f"{self._indent}{where}:"
        for line in lines:
            yield f"{self._indent * (2 if where else 1)}{line}".rstrip()

    def _field(self, field: Field) -> Iterator[str]:
        first, *others = field.values
        if field.code:
            yield f"{field.name}: {first}: {field.code}"
        else:
            yield from self._named(field.name, first)
        for value in others:
            if field.code:
                yield from self._wrapped(value, self._indent, self._indent)
            else:
                yield from self._named(field.name, value)

    def _named(self, name: str, words: str) -> Iterable[str]:
        return self._wrapped(f"{name}: {words}" if name else words) if words else ()

    def _wrapped(self, words: str, first: str = "", further: str = HANGING) -> list[str]:
        if not self._width:
            return [f"{first}{words}"]
        return textwrap.wrap(
            words,
            self._width,
            initial_indent=first,
            subsequent_indent=further,
            break_long_words=False,
            break_on_hyphens=False,
        )


def _table(table: Table) -> Iterator[str]:
    """A table with its caption, columns aligned; numbers end where their column ends."""
    if table.caption:
        yield clean(table.caption)
    if not table.rows:
        yield "no rows"
        return
    found, notes = excerpt(table, ROWS)
    rows = [("", [clean(column.name) for column in table.columns])]
    rows += [(f"{'  ' * level}{mark}", row) for level, mark, row in found]
    shown = [[shorten(cell, CELL) for cell in row] for _, row in rows]
    for (before, _), row in zip(rows, shown, strict=True):
        row[0] = before + row[0]
    widths = [max(map(cells, column)) for column in zip(*shown, strict=True)]
    right = [is_numeric(column) for column in table.columns]
    right[0] &= not table.members
    for row in shown:
        spaces = [" " * (width - cells(cell)) for width, cell in zip(widths, row, strict=True)]
        placed = [
            space + cell if at_right else cell + space
            for space, cell, at_right in zip(spaces, row, right, strict=True)
        ]
        yield "  ".join(placed).rstrip()
    yield from notes
