"""Gradients through a recording as tables."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from math import isfinite
from typing import Any

from gradviz.analysis.row_blocks import NamedRows, Path, blocks_of
from gradviz.model.formatting import plural
from gradviz.model.gradient_flow import BackwardFlow, ParameterFlow, ReluFlow, norm_of
from gradviz.model.report import Cell, Column, Table


def tables_of(
    rows: Sequence[ParameterFlow],
    backwards: Sequence[BackwardFlow],
    relus: Sequence[ReluFlow],
) -> tuple[Table, ...]:
    """A row per parameter, per backward, and per ReLU that passed no gradient on."""
    tables = [_parameters(rows, len(backwards))]
    if backwards:
        tables.append(_backwards(backwards, len(rows)))
    if relus:
        tables.append(_relus(relus))
    return tuple(tables)


def _parameters(rows: Sequence[ParameterFlow], count: int) -> Table:
    members = blocks_of(FlowBlocks(rows, count))
    columns = (
        Column("parameter", help="its name in the code"),
        Column("elements", "number", "how many numbers it has"),
        Column("backwards", "number", "how many backwards gave it a gradient"),
        Column("first", "number", "norm of the first gradient"),
        Column("last", "number", "norm of the last gradient"),
        Column("smallest", "number", "smallest norm without nan and inf"),
        Column("largest", "number", "largest norm without nan and inf"),
        Column("all zeros", "number", "how many of its gradients are all zeros"),
        Column("nan or inf", "number", "how many of its gradients have nan or inf"),
        Column("updates", "number", "how many optimizer steps wrote it"),
        Column("steps", "number", "how many optimizer steps have it"),
    )
    cells = tuple((row.name, *_numbers([row], count)) for row in rows)
    return Table("gradients by parameter", columns, cells, members=members)


def _numbers(rows: Sequence[ParameterFlow], count: int) -> Iterator[Cell]:
    """Everything about one parameter, or about several together."""
    yield sum(row.elements for row in rows)
    given = [place for place in range(count) if any(row.given[place] for row in rows)]
    norms = [norm_of(rows, place) for place in given]
    known = [norm for norm in norms if norm is not None and isfinite(norm)]
    yield len(given)
    yield from (norms[0], norms[-1]) if norms else (None, None)
    yield from (min(known), max(known)) if known and None not in norms else (None, None)
    yield sum(row.zeros for row in rows)
    yield sum(row.broken for row in rows)
    yield sum(row.updates for row in rows)
    yield sum(row.steps for row in rows)


class FlowBlocks(NamedRows):
    """What is known of the rows of a table of gradients.

    Args:
        rows: The parameters.
        count: How many backwards there are.
    """

    is_ordered = True
    """What is near the loss and what is far from it is seen where the order is that of the model.
    """

    def __init__(self, rows: Sequence[ParameterFlow], count: int) -> None:
        super().__init__([row.name for row in rows])
        self._rows = rows
        self._count = count
        self.paths = [tuple(re.split(r"[.\[]", row.name)) for row in rows]

    def label(self, path: Path) -> str:
        """A path as it is written."""
        return "".join(
            part if not place else f"[{part}" if part.endswith("]") else f".{part}"
            for place, part in enumerate(path)
        )

    def alike(self, row: int) -> Hashable:
        """Modules that are equal differ in their gradients, which is what is looked for."""
        return row

    def rank(self, rows: Sequence[int]) -> Any:
        """In the order of the model."""
        return 0

    def cells(self, label: str, rows: Sequence[int]) -> tuple[Cell, ...]:
        """Totals."""
        return label, *_numbers([self._rows[row] for row in rows], self._count)


def _backwards(backwards: Sequence[BackwardFlow], count: int) -> Table:
    columns = (
        Column("backward", "number"),
        Column("line", "number"),
        Column("code"),
        Column("parameters", "number", f"how many of {plural(count, 'parameter')} it gave one"),
        Column("norm", "number", "Euclidean norm of all gradients that it gave"),
        Column("step", help="the optimizer step that followed"),
    )
    cells = tuple(
        (
            one.number,
            None if one.at is None else one.at.line,
            "" if one.at is None else one.at.text,
            one.count,
            one.norm,
            one.step,
        )
        for one in backwards
    )
    return Table("backwards", columns, cells)


def _relus(relus: Sequence[ReluFlow]) -> Table:
    columns = (
        Column("ReLU"),
        Column("line", "number"),
        Column("backwards without gradient", "number", "in which all its inputs were 0 or less"),
        Column("of", "number", "how many backwards gave it a gradient"),
    )
    cells = tuple(
        (one.name, None if one.at is None else one.at.line, len(one.backwards), one.total)
        for one in relus
    )
    return Table("ReLUs that passed no gradient on", columns, cells)
