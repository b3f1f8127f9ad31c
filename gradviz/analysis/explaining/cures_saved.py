"""Changes after which every saved tensor is as it was when backward needs it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gradviz.analysis.explaining import cures_backward, cures_writes
from gradviz.analysis.explaining.carried import carried_by
from gradviz.analysis.explaining.cures_carried import cut_state
from gradviz.analysis.explaining.cures_writes import Edit
from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.in_place_modules import not_in_place
from gradviz.analysis.explaining.rebinding import may_leave, may_rebind
from gradviz.analysis.explaining.statements import (
    Statement,
    is_expression,
    names_bound,
)
from gradviz.analysis.explaining.suspects import Suspect, all_suspects
from gradviz.analysis.explaining.words import is_result, operation_of
from gradviz.analysis.explaining.writes import Written, writes_since_save
from gradviz.model.events import BackwardStarted, OptimizerStepped
from gradviz.model.explanation import Cure
from gradviz.model.sentence import listed

_MOST = 6
"""Places that a cure changes at most."""


def cures_of(found: Suspect, evidence: Evidence) -> Iterator[Cure]:
    """Changes at the writes, then at the saves; only such as mend all that backward needs."""
    suspects = all_suspects(found, evidence)
    written = [_first_write(suspect, evidence) for suspect in suspects]
    known = [write for write in written if write is not None]
    if any(write.is_optimizer for write in known) or any(_is_leaf(s, evidence) for s in suspects):
        if len(known) == len(suspects):
            yield from _around_step(known[0], suspects, evidence)
        return
    if len(known) == len(suspects):
        at_writes = [_at_write(*pair, evidence) for pair in zip(known, suspects)]
        yield from _together(at_writes)
    yield from _at_saves(suspects, written, evidence)


def _first_write(suspect: Suspect, evidence: Evidence) -> Written | None:
    writes = writes_since_save(suspect.slot, suspect.node, evidence)
    return writes[0] if writes else None


def _is_leaf(suspect: Suspect, evidence: Evidence) -> bool:
    """Whether a leaf that requires grad was written, as training by hand does."""
    info = evidence.history.tensor(suspect.tensor, evidence.step)
    return info is not None and bool(info.is_leaf) and info.requires_grad


def _together(cures: Sequence[Cure | None]) -> Iterator[Cure]:
    """One cure of several changes, if there is one for each and they do not meet."""
    changes = [cure for cure in dict.fromkeys(cures) if cure is not None]
    places = {(cure.line, cure.how) for cure in changes}
    if None in cures or len(places) < len(changes) or not 0 < len(changes) <= _MOST:
        return
    first, *others = changes
    also = tuple(replace(cure, does="") for cure in others)
    yield replace(first, also=(*first.also, *also))


# --- at the save -----------------------------------------------------------------------------


def _at_saves(
    suspects: Sequence[Suspect], written: Sequence[Written | None], evidence: Evidence
) -> Iterator[Cure]:
    """Operations save copies, or hand copies on."""
    edits: dict[int, tuple[Statement, list[Edit]]] = {}
    lines = {write.at.line for write in written if write is not None and write.at is not None}
    for suspect in suspects:
        made = evidence.statement_at(evidence.history.made_at(suspect.node))
        if made is None or made.line in lines:
            return
        found = cures_writes.keep_a_copy(made, suspect.name, is_result(suspect.slot))
        if not found:
            return
        known = edits.setdefault(made.line, (made, []))[1]
        known += [edit for edit in found if edit not in known]
    changes = [
        Cure("", statement.edited(found), "instead", line)
        for line, (statement, found) in edits.items()
    ]
    yield from _together([replace(changes[0], does=_saving(suspects)), *changes[1:]])


def _saving(suspects: Sequence[Suspect]) -> str:
    first = suspects[0]
    operations = listed(list(dict.fromkeys(operation_of(one.node) for one in suspects)))
    if len({one.node.id for one in suspects}) > 1:
        return f"{operations} save copies, so what is written is another tensor"
    if is_result(first.slot):
        return f"{first.name} is a copy; the result that {operations} saved stays as it is"
    return f"{operations} saves a copy, so {first.name} may be written"


# --- around an update ------------------------------------------------------------------------


def _around_step(first: Written, suspects: Iterable[Suspect], evidence: Evidence) -> Iterator[Cure]:
    """The update comes later, or the loss is computed once more after it."""
    suspects = list(suspects)
    statement = evidence.statement_at(first.at)
    carried = carried_by(suspects[0].node.id, evidence)
    if carried is not None:
        cut = cut_state(carried, evidence)
        yield from () if cut is None else (cut,)
        return
    updated = {suspect.tensor for suspect in suspects}
    for event in evidence.recording.facts[first.step].events:
        if isinstance(event, OptimizerStepped):
            updated |= set(event.updated)
    leaves = [n.id for n in evidence.history.nodes(evidence.step) if n.variable in updated]
    stale = [*leaves, *(suspect.node.id for suspect in suspects)]
    again = cures_backward.compute_again(stale, statement, evidence, " with the new values")
    if again is not None:
        yield again
    does = "updates after the backward that needs the weights as they were"
    if any(evidence.history.events(BackwardStarted, first.step)):
        does = "updates after both backwards; .grad then has the gradients of both"
    moved = cures_backward.move_behind(statement, evidence, does)
    if moved is not None:
        yield moved


# --- at the write ----------------------------------------------------------------------------


def _at_write(first: Written, suspect: Suspect, evidence: Evidence) -> Cure | None:
    statement = evidence.statement_at(first.at)
    if statement is None:
        return None
    alias = first.name if first.name != suspect.name else None
    if alias is not None and first.through == "detach":
        return _copy_of_alias(alias, first.step, evidence)
    if alias is not None:
        return _view_of_copy(alias, suspect, first.step, evidence)
    name = suspect.name or first.name
    code = cures_writes.out_of_place(statement, first.by)
    target = cures_writes.written_expression(statement, first.by)
    has_views = _has_views(suspect, first, evidence)
    may = name is not None and may_rebind(statement, name, target) and not has_views
    if not cures_writes.is_bare_write(statement) and first.module is None:
        may = may and may_leave(statement, target)
        may = may or (target is None and _is_made_there(suspect, statement, evidence))
    if code is not None and may:
        does = "makes a new tensor; what was saved stays as it is"
        return Cure(does, code, "instead", statement.line)
    if first.module is not None:
        return not_in_place(first.module, statement)
    if name is not None and is_expression(name) and first.name is not None and may:
        return cures_writes.clone_before(name, statement.line)
    return None


def _is_made_there(suspect: Suspect, statement: Statement, evidence: Evidence) -> bool:
    """Whether what a line writes is a result that it has made itself: ``w.exp().add_(1)``."""
    made = evidence.statement_at(evidence.history.made_at(suspect.node))
    is_result_of_it = made is not None and made.node is statement.node and is_result(suspect.slot)
    return is_result_of_it and not any(isinstance(p, ast.NamedExpr) for p in statement.parts)


def _copy_of_alias(alias: str, until: int, evidence: Evidence) -> Cure | None:
    statement = _bound_at(alias, until, evidence)
    code = None if statement is None else cures_writes.copy_of_detached(statement)
    if statement is None or code is None:
        return None
    return Cure(f"{alias} gets memory of its own", code, "instead", statement.line)


def _view_of_copy(alias: str, suspect: Suspect, until: int, evidence: Evidence) -> Cure | None:
    """The view is taken of a copy, if it was taken after the save."""
    statement = _bound_at(alias, until, evidence)
    info = evidence.tensor_named(alias)
    made, saved = (
        evidence.history.born(info.id) if info else None,
        evidence.history.born(suspect.node.id),
    )
    if statement is None or made is None or saved is None or made <= saved:
        return None
    name = suspect.name
    if name is None or not is_expression(name) or not may_rebind(statement, name):
        return None
    does = f"{alias} is a view of a copy; what was saved stays as it is"
    return cures_writes.clone_before(name, statement.line, does)


def _bound_at(name: str, until: int, evidence: Evidence) -> Statement | None:
    """The statement that bound a variable last."""
    for step in range(until, 0, -1):
        if evidence.recording.facts[step].kind == "line":
            statement = evidence.statement_at(evidence.history.line(step))
            if statement is not None and name in names_bound(statement):
                return statement if isinstance(statement.node, ast.Assign) else None
    return None


def _has_views(suspect: Suspect, first: Written, evidence: Evidence) -> bool:
    """Whether other variables see the write too, as they would not if it made a new tensor."""
    others = evidence.history.on_storage(suspect.slot.storage, first.step)
    return any(
        info.id != suspect.tensor and info.name and evidence.history.is_alive(info.id, first.step)
        for info in others
    )
