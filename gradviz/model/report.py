"""The interface of all reports: sentences, tables, and a graph with marks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight

Cell: TypeAlias = "str | int | float | bool | None"


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
class Table:
    """Rows that can be printed, sorted, and turned into a DataFrame."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    ids: tuple[str, ...] = ()
    """Per row the id of the node or tensor in the picture that it is about, ``""`` for none;
    empty if no row has one."""

    def dicts(self) -> list[dict[str, Cell]]:
        """One dictionary per row, as ``pandas.DataFrame`` takes them."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        return iter(self.dicts())

    def __len__(self) -> int:
        return len(self.rows)


@runtime_checkable
class Report(Protocol):
    """What a report shows: an audit, a count of memory, a comparison."""

    @property
    def title(self) -> str:
        """A headline: ``"audit of loss: 2 of 8 parameters get no gradient"``."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The findings in sentences, most important first."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """All findings as tables."""

    @property
    def graph(self) -> Graph | None:
        """The graph to which ``marks`` refer."""

    @property
    def marks(self) -> tuple[Highlight, ...]:
        """What to mark in a picture of the graph."""
