"""An audit as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from gradviz.analysis.audit.parameter_blocks import ANSWER, ParameterBlocks, fine_together
from gradviz.analysis.audit.reasons_recorded import Verdict
from gradviz.analysis.row_blocks import blocks_of
from gradviz.model.audit import ParameterAudit
from gradviz.model.audit_input import AuditInput, OptimizerFacts
from gradviz.model.records import Attribute
from gradviz.model.report import Cell, Column, Table
from gradviz.model.sentence import listed

_NUMBER: Final = ("lr", "momentum", "weight_decay")
"""Settings of an optimizer that have a column."""


def tables_of(
    facts: AuditInput, rows: Sequence[ParameterAudit], verdicts: Mapping[int, Verdict]
) -> tuple[Table, ...]:
    """All facts: a row per parameter, per cut, per group of the optimizer."""
    tables = [_parameters(rows, facts.optimizer is not None)]
    known = {place: v for place, v in verdicts.items() if v.marks or v.at is not None}
    if known:
        tables.append(_cuts(rows, known))
    if facts.optimizer is not None:
        tables.append(_groups(facts.optimizer))
        if facts.optimizer.strangers:
            tables.append(_strangers(facts.optimizer))
    return tuple(tables)


def _parameters(rows: Sequence[ParameterAudit], has_optimizer: bool) -> Table:
    has_grads = any(row.grad is not None for row in rows)
    members = blocks_of(ParameterBlocks(rows, has_grads, has_optimizer))
    is_large = bool(members)
    members = members or fine_together(rows, has_grads, has_optimizer)
    reached = Column("reached", "flag", help="whether the graph of the loss reaches it")
    gradient = Column("gradient", "flag", help="whether loss.backward() gives it one")
    reason = Column("reason", help="why it gets no gradient")
    columns = [Column("parameter", help="path in the model"), Column("shape")]
    elements = Column("elements", "number", "how many numbers it has")
    # What is looked at first is in sight without scrolling.
    columns[1:1] = gradient, reason
    columns += [elements, reached] if is_large else [reached]
    if has_grads:
        columns += [
            Column("norm", "number", help="Euclidean norm of .grad; empty if .grad is None"),
            Column("zeros", "number", help="number of zeros in .grad"),
            Column("nan", "number", help="number of nan values in .grad"),
            Column("inf", "number", help="number of infinite values in .grad"),
            Column("stale", "flag", help="whether .grad is not from this loss"),
        ]
    if has_optimizer:
        columns += [
            Column("updated", "flag", help="whether optimizer.step() updates it"),
            Column("from", help="the gradient that step() uses, or why it does not update it"),
        ]
    cells = []
    for row in rows:
        about = list(_about(row))
        if is_large:
            about.insert(4, row.elements)
        cells.append(
            (
                *about,
                *(_grad(row) if has_grads else ()),
                *((ANSWER[row.updated], row.update) if has_optimizer else ()),
            )
        )
    ids = tuple(row.tensor for row in rows)
    return Table("parameters", tuple(columns), tuple(cells), ids, members)


def _about(row: ParameterAudit) -> Iterator[Cell]:
    yield " = ".join(row.names)
    yield ANSWER[row.gets_gradient]
    line = f", line {row.at.line}" if row.at is not None and row.at.line is not None else ""
    yield f"{row.reason}{line}"
    yield "none yet" if row.shape is None else str(row.shape)
    yield ANSWER[row.reached]


def _grad(row: ParameterAudit) -> Iterator[Cell]:
    grad = row.grad
    if grad is None:
        yield from (None, None, None, None, "")
        return
    yield grad.norm_number
    yield from (grad.zeros, grad.nan, grad.inf)
    yield ANSWER[row.stale]


def _cuts(rows: Sequence[ParameterAudit], verdicts: Mapping[int, Verdict]) -> Table:
    """Where paths are cut, each place once."""
    groups: dict[tuple[str, str, int | None, str, str], list[str]] = {}
    for place, verdict in verdicts.items():
        at = verdict.at
        line, text = (at.line, at.text) if at is not None else (None, "")
        mark = next(iter(verdict.marks), "")
        key = (verdict.reason, verdict.call, line, text, mark)
        groups.setdefault(key, []).append(rows[place].name)
    columns = (
        Column("reason"),
        Column("by", help="the call that cut the path"),
        Column("line", "number", help="line of the call, if the forward was recorded"),
        Column("code"),
        Column("parameters", "number", help="number of parameters that lose their gradient there"),
        Column("for example"),
    )
    cells = tuple(
        (reason, call, line, text, len(names), str(listed(names, 1)))
        for (reason, call, line, text, _), names in groups.items()
    )
    ids = tuple(mark for *_, mark in groups)
    return Table("where the path is cut", columns, cells, ids)


def _groups(optimizer: OptimizerFacts) -> Table:
    columns = (
        Column("group", "number"),
        Column("tensors", "number"),
        *(Column(name, "number") for name in _NUMBER),
        Column("other settings"),
    )
    cells = []
    for number, group in enumerate(optimizer.groups):
        others = [
            f"{name}={_text(value)}"
            for name, value in group.settings
            if name not in _NUMBER and value not in (None, False, 0)
        ]
        numbers = [_cell(group.get(name)) for name in _NUMBER]
        cells.append((number, group.count, *numbers, " ".join(others)))
    return Table(f"groups of {optimizer.name}", columns, tuple(cells))


def _cell(value: Attribute) -> Cell:
    return _text(value) if isinstance(value, tuple) else value


def _text(value: Attribute) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    return str(value)


def _strangers(optimizer: OptimizerFacts) -> Table:
    columns = (
        Column("group", "number"),
        Column("place", "number", help="place in the group"),
        Column("shape"),
        Column("name", help="name of its variable in the code"),
        Column("replaced by", help="the parameter that has its name now"),
    )
    cells = tuple(
        (s.group, s.place, str(s.shape), s.name or "", s.stands_for or "")
        for s in optimizer.strangers
    )
    ids = tuple(stranger.tensor for stranger in optimizer.strangers)
    return Table(
        "tensors of the optimizer that are not parameters of the model", columns, cells, ids
    )
