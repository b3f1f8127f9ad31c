"""The interface of all reports: sentences, tables, and a graph with marks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.model.presentation import Printed

Cell: TypeAlias = "str | int | float | bool | None"
RowMember: TypeAlias = "int | Block"
"""A row of a table, by its place in ``rows``, or a block."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    kind: Literal["text", "number", "bytes", "flag"] = "text"
    """How its cells are written and sorted; ``"bytes"`` are numbers of bytes, ``"flag"`` are
    ``True`` and ``False``, read as yes and no; a text is shown as it is. ``None`` is an empty cell
    and sorts last."""
    help: str = ""
    """What it means, in one sentence."""


@dataclass(frozen=True, slots=True)
class Block:
    """Several rows as one row with their totals: a module with those in it, or equal modules."""

    cells: tuple[Cell, ...]
    """One per column, the name of the block first."""
    members: tuple[RowMember, ...]
    """What matters most first."""
    is_open: bool = False
    """Whether its members are shown at first."""

    @property
    def rows(self) -> tuple[int, ...]:
        """All rows in it, by their places."""
        return tuple(
            line.member for line in _lines(self.members, 1, True) if isinstance(line.member, int)
        )


@dataclass(frozen=True, slots=True)
class TableLine:
    """A row or a block as a folded table shows it."""

    level: int
    """1 for those that are in no block."""
    member: RowMember


@dataclass(frozen=True, slots=True)
class Table(Printed):
    """Rows that can be printed, sorted, and turned into a DataFrame."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    ids: tuple[str, ...] = ()
    """Per row the id of the node or tensor in the picture that it is about, ``""`` for none;
    empty if no row has one."""
    members: tuple[RowMember, ...] = field(default=(), metadata={"left out": "if empty"})
    """The rows in blocks, each row once; empty where all rows are shown in their order."""

    def lines(self, closed: bool = False) -> Iterator[TableLine]:
        """What is shown from top to bottom: rows and blocks.

        Args:
            closed: Whether what is in closed blocks comes too.

        Examples:
            >>> block = Block(("a and b",), (1, 0), is_open=True)
            >>> table = Table("", (Column("name"),), (("a",), ("b",)), members=(block,))
            >>> [(line.level, table.cells(line)) for line in table.lines()]
            [(1, ('a and b',)), (2, ('b',)), (2, ('a',))]
        """
        return _lines(self.members or tuple(range(len(self.rows))), 1, closed)

    def cells(self, line: TableLine) -> tuple[Cell, ...]:
        """The cells of a row or block."""
        member = line.member
        return self.rows[member] if isinstance(member, int) else member.cells

    def id(self, line: TableLine) -> str:
        """The id that a row has in :attr:`ids`, ``""`` for none."""
        return self.ids[line.member] if self.ids and isinstance(line.member, int) else ""

    def dicts(self) -> list[dict[str, Cell]]:
        """One dictionary per row, as ``pandas.DataFrame`` takes them."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        return iter(self.dicts())

    def __len__(self) -> int:
        return len(self.rows)


def _lines(members: Iterable[RowMember], level: int, closed: bool) -> Iterator[TableLine]:
    for member in members:
        yield TableLine(level, member)
        if isinstance(member, Block) and (member.is_open or closed):
            yield from _lines(member.members, level + 1, closed)


@runtime_checkable
class Report(Protocol):
    """What a report shows: an audit, a count of memory, a comparison."""

    @property
    def title(self) -> str:
        """The answer: ``"2 of 8 parameters get no gradient from loss"``."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The findings in sentences, most important first."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Those of the sentences that are folded at first: how something was counted, and what is
        as usual."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """All findings as tables."""

    @property
    def graph(self) -> Graph | None:
        """The graph to which ``marks`` refer."""

    @property
    def marks(self) -> tuple[Highlight, ...]:
        """What to mark in a picture of the graph."""
