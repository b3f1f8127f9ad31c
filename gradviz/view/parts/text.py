"""Parts as text: what ``print`` writes and nbval compares."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from gradviz.model.report import Table
from gradviz.model.verdict import Outcome
from gradviz.view.parts.part import (
    SIGNS,
    Advice,
    CodeBlock,
    Details,
    Field,
    FieldList,
    ItemList,
    Outcomes,
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
                yield from (
                    [part.words] if part.look == "title" else self._named(part.name, part.words)
                )
            case CodeBlock():
                yield from self._code(part)
            case ItemList():
                for number, item in enumerate(part.items, 1):
                    if part.name:
                        yield from self._named(f"{part.name} {number}", item)
                    else:
                        yield from self._wrapped(item, self._indent, self._indent)
            case Field():
                yield from self._field(part)
            case FieldList():
                yield from chain.from_iterable(map(self._field, part.fields))
            case Advice():
                yield from self._advice(part)
            case Details(in_text=words) | Rows(in_text=words) if words:
                yield from self._wrapped(words)
            case Details():
                yield from chain.from_iterable(map(self.lines, part.parts))
            case Region():
                yield from self._region(part)
            case Outcomes():
                yield from chain.from_iterable(map(self._outcome, part.outcomes))
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
        written += chain.from_iterable(map(self.lines, region.end))
        if region.kind:
            return written
        return [region.title, *(f"{self._indent}{line}" for line in written)]

    def _outcome(self, one: Outcome) -> Iterable[str]:
        found = one.found if one.is_right else f"expected {one.expected}, found {one.found}"
        return self._wrapped(clean(f"{SIGNS[one.is_right]} {clean(one.what)}: {found}"))

    def _advice(self, advice: Advice, room: float = math.inf) -> list[str]:
        """An advice of which as much comes first as there is room for."""
        name, does = advice.name, advice.does
        words = list(self._named(name, does or "type this"))
        changes = list(chain.from_iterable(map(self._code, advice.changes)))
        if len(words) + len(changes) <= room:
            return [*words, *changes]
        about = list(self._named(f"about {advice.short}", does))
        if 0 < len(changes) <= room:
            return [f"{name}: {changes[0].strip()}", *changes[1:], *about]
        below = list(self._named(name, f"{does} (code below)".strip()))
        if len(below) > room:
            below = [*[f"{name}: see below"][: int(max(room, 0))], *about]
        return [*below, f"code of {advice.short}:", *changes]

    def _code(self, block: CodeBlock) -> list[str]:
        where, lines = block.where, block.lines
        if where and len(lines) <= 1:
            return [f"{self._indent}{': '.join((where, *lines))}"]
        head = [f"{self._indent}{where}:"] if where else []
        before = self._indent * (1 + len(head))
        return [*head, *(f"{before}{line}".rstrip() for line in lines)]

    def _field(self, field: Field) -> Iterator[str]:
        first, *others = field.values
        if field.code:
            yield f"{field.name}: {first}: {field.code}"
            for value in others:
                yield from self._wrapped(value, self._indent, self._indent)
        else:
            yield from chain.from_iterable(self._named(field.name, one) for one in field.values)

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
    shown = []
    for before, row in rows:
        name, *others = (shorten(cell, CELL) for cell in row)
        shown.append([before + name, *others])
    widths = [max(map(cells, column)) for column in zip(*shown, strict=True)]
    right = [is_numeric(column) for column in table.columns]
    right[0] &= not table.members
    for row in shown:
        placed = []
        for cell, width, at_right in zip(row, widths, right, strict=True):
            space = " " * (width - cells(cell))
            placed.append(space + cell if at_right else cell + space)
        yield "  ".join(placed).rstrip()
    yield from notes
