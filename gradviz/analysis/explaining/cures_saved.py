"""Changes after which a saved tensor is as it was when backward needs it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradviz.analysis.explaining import cures_backward, cures_writes
from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.statements import Statement, is_expression, names_bound
from gradviz.analysis.explaining.words import is_result, operation_of
from gradviz.analysis.explaining.writes import Written
from gradviz.model.events import OptimizerStepped
from gradviz.model.explanation import Cure
from gradviz.model.facts import Node, SavedTensor


class Suspect(NamedTuple):
    """A saved tensor that was written since, and the node that keeps it."""

    node: Node
    slot: SavedTensor
    tensor: str | None
    """Id of the tensor, or of the one that the saved one is a view of."""
    name: str | None


def cures_of(suspect: Suspect, first: Written | None, evidence: Evidence) -> Iterator[Cure]:
    """Changes at the write, then at the save, best first."""
    made = evidence.statement_at(evidence.past.made_at(suspect.node))
    if first is not None:
        statement = evidence.statement_at(first.at)
        if first.is_optimizer or _is_update(suspect, evidence):
            yield from _around_step(first, suspect, statement, evidence)
            return
        yield from _at_write(first, suspect, statement, evidence)
    if made is not None and (first is None or first.at is None or made.line != first.at.line):
        code = cures_writes.keep_a_copy(made, suspect.name, is_result(suspect.slot))
        if code is not None:
            op = operation_of(suspect.node)
            does = (
                f"{suspect.name} is a copy; the result that {op} saved stays as it is"
                if is_result(suspect.slot)
                else f"{op} saves a copy, so {suspect.name} may be written"
            )
            yield Cure(does, code, "instead", made.line)


def _is_update(suspect: Suspect, evidence: Evidence) -> bool:
    """Whether a leaf that requires grad was written, as training by hand does."""
    info = evidence.past.tensor(suspect.tensor, evidence.step)
    return info is not None and bool(info.is_leaf) and info.requires_grad


def _around_step(
    first: Written, suspect: Suspect, statement: Statement | None, evidence: Evidence
) -> Iterator[Cure]:
    events = evidence.recording.facts[first.step].events
    updated = {suspect.tensor}
    for event in events:
        if isinstance(event, OptimizerStepped):
            updated |= set(event.updated)
    leaves = [n.id for n in evidence.past.nodes(evidence.step) if n.variable in updated]
    again = cures_backward.compute_again(
        [*leaves, suspect.node.id], statement, evidence, " with the new values"
    )
    if again is not None:
        yield again
    does = "updates after both backwards; .grad then has the gradients of both"
    moved = cures_backward.move_behind(statement, evidence, does)
    if moved is not None:
        yield moved


def _at_write(
    first: Written, suspect: Suspect, statement: Statement | None, evidence: Evidence
) -> Iterator[Cure]:
    if statement is None:
        return
    new = "makes a new tensor; what was saved stays as it is"
    alias = first.name if first.name != suspect.name else None
    if first.through == "detach" and alias is not None:
        yield from _copy_of_alias(alias, first.step, evidence)
    elif alias is not None:
        yield from _view_of_copy(alias, suspect, first.step, evidence)
    else:
        code = cures_writes.out_of_place(statement, first.by)
        if code is not None and not _has_views(suspect, first, evidence):
            yield Cure(new, code, "instead", statement.line)
            return
        if first.module is not None:
            off = cures_writes.not_in_place(first.module, statement.line)
            yield from () if off is None else (off,)
            return
        name = suspect.name
        if name is not None and is_expression(name) and first.name is not None:
            yield cures_writes.clone_before(name, statement.line)


def _copy_of_alias(alias: str, until: int, evidence: Evidence) -> Iterator[Cure]:
    statement = _bound_at(alias, until, evidence)
    code = None if statement is None else cures_writes.copy_of_detached(statement)
    if statement is not None and code is not None:
        yield Cure(f"{alias} gets memory of its own", code, "instead", statement.line)


def _view_of_copy(alias: str, suspect: Suspect, until: int, evidence: Evidence) -> Iterator[Cure]:
    """The view is taken of a copy, if it was taken after the save."""
    statement = _bound_at(alias, until, evidence)
    info = evidence.tensor_named(alias)
    made, saved = evidence.past.born(info.id) if info else None, evidence.past.born(suspect.node.id)
    if statement is None or made is None or saved is None or made <= saved:
        return
    if suspect.name is not None and is_expression(suspect.name):
        does = f"{alias} is a view of a copy; what was saved stays as it is"
        yield cures_writes.clone_before(suspect.name, statement.line, does)


def _bound_at(name: str, until: int, evidence: Evidence) -> Statement | None:
    """The statement that bound a variable last."""
    for step in range(until, 0, -1):
        if evidence.recording.facts[step].kind == "line":
            statement = evidence.statement_at(evidence.past.line(step))
            if statement is not None and name in names_bound(statement):
                return statement if isinstance(statement.node, ast.Assign) else None
    return None


def _has_views(suspect: Suspect, first: Written, evidence: Evidence) -> bool:
    """Whether other variables see the write too, as they would not if it made a new tensor."""
    others = evidence.past.on_storage(suspect.slot.storage, first.step)
    return any(
        info.id != suspect.tensor and info.name and evidence.past.is_alive(info.id, first.step)
        for info in others
    )
