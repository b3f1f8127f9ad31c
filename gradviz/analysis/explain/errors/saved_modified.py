"""A saved tensor was modified before backward read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import loops_around, names_bound
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_path import made_in_frame
from gradviz.analysis.explain.errors.modified_slots import ModifiedSlot, modified_slots_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.after_saved_modified import fixes_of
from gradviz.analysis.explain.not_followed import RECORD_EARLIER
from gradviz.analysis.explain.torch_messages import versions_in
from gradviz.analysis.explain.torch_names import is_result
from gradviz.analysis.explain.written_as import through_other_name
from gradviz.model.events import BackwardStarted
from gradviz.model.explanation import Cause, Fix
from gradviz.model.formatting import shape
from gradviz.model.history import History
from gradviz.model.operations import operation_of
from gradviz.model.records import SavedTensor
from gradviz.model.sentence import Sentence, Term, listed, say
from gradviz.model.writes import Written, writes_since_save


@dataclass(frozen=True, kw_only=True)
class SavedWritten(Finding):
    """The saved tensor that was modified, or several candidates."""

    context: ErrorContext
    suspect: ModifiedSlot | None = None


def saved_written(context: ErrorContext) -> Iterator[SavedWritten]:
    """Which tensor was modified, which node saved it, and which line wrote it first."""
    found = modified_slots_of(context)
    yield _of_one(found[0], context) if len(found) == 1 else _of_several(found, context)


def fixes(found: SavedWritten) -> Iterator[Fix | None]:
    """Changes after which the saved tensor is not modified."""
    if found.suspect is not None:
        yield from fixes_of(found.suspect, found.context)


def _of_one(suspect: ModifiedSlot, context: ErrorContext) -> SavedWritten:
    node, slot = suspect.node, suspect.slot
    writes = writes_since_save(slot, node, context.history, context.step)
    first = writes[0] if writes else None
    is_view = suspect.name is not None and slot.view_of is not None
    name = _name(suspect)
    saved = say("a view of {}", name) if is_view else name or Sentence(_anonymous(slot))
    at = "" if first is None else say("{} in {}", first.by, context.at(first.at))
    other = "" if first is None else _other_name(first, context.history)
    case = "the optimizer wrote" if first is not None and first.is_optimizer else ""
    return SavedWritten(
        history=context.history,
        step=context.step,
        case="version not known" if slot.saved_version is None else case,
        words={
            "node": Term(node.id, node.name),
            "saved": saved,
            "it": "it" if name is None or is_view else name,
            "then": slot.saved_version,
            "now": slot.current_version,
            "operation": operation_of(node),
            "source": "its result" if is_result(slot) else "a tensor that it saved",
            "by": say("{} wrote it{}", at, other) if at else "modified after it was saved",
        },
        variables=(suspect.name, None if first is None else first.name),
        node=node,
        slot=slot,
        causes=tuple(_causes(suspect, writes, context)),
        targets=_targets(suspect, first, context),
        unknown=() if first is not None else (_unknown(context),),
        inside=None if first is None else first.module,
        by="" if first is None else first.by,
        called=first is not None and first.event is not None,
        site=None
        if first is None or first.event is None
        else site_of(context.history, *first.event),
        context=context,
        suspect=suspect,
    )


def _of_several(found: Sequence[ModifiedSlot], context: ErrorContext) -> SavedWritten:
    """The message names no node, and none or several candidates fit it."""
    names = list(dict.fromkeys(s.name for s in found if s.name))
    told = versions_in(context.raised.message)
    node_names = {s.node.name for s in found}
    which = listed([_which(one) for one in found])
    return SavedWritten(
        history=context.history,
        step=context.step,
        case="tensor not known",
        words={
            "of_shape": "" if told is None else f" of shape {shape(told[0])}",
            "versions": ""
            if told is None
            else f": saved at version {told[1]}, now at version {told[2]}",
        },
        variables=tuple(names) if len(names) == 1 else (),
        node_name=node_names.pop() if len(node_names) == 1 else None,
        versions=None if told is None else (told[1], told[2]),
        targets={"candidate": [one.node.id for one in found]},
        unknown=(
            say("which of these torch was about to read: {}", which)
            if found
            else Sentence("which node had saved it"),
            _unknown(context),
        ),
        context=context,
    )


def _which(one: ModifiedSlot) -> Sentence:
    name = _name(one)
    whose = say(" ({})", name) if name is not None else ""
    return say("{} of {}{}", one.slot.name, Term(one.node.id, one.node.name), whose)


def _name(suspect: ModifiedSlot) -> Sentence | None:
    if suspect.name is None:
        return None
    return Sentence(suspect.name if suspect.tensor is None else Term(suspect.tensor, suspect.name))


def _anonymous(slot: SavedTensor) -> str:
    whose = "its result" if is_result(slot) else "a tensor"
    return f"{whose} ({slot.dtype} {shape(slot.shape or ())})"


def _kept(suspect: ModifiedSlot, writes: list[Written], context: ErrorContext) -> Iterator[Cause]:
    """The line before a loop that computed what each turn of it needs anew after an update."""
    statement, step = made_in_frame(suspect.node.id, context)
    noticed, history = context.statement, context.history
    if statement is None or noticed is None or step is None or statement.code != noticed.code:
        return
    around = {id(loop) for loop in loops_around(statement)}
    has_loop = any(id(loop) not in around for loop in loops_around(noticed))
    backwards = history.events(BackwardStarted, writes[0].step, step) if writes else ()
    if has_loop and any(backwards):
        made = history.line(step)
        names = names_bound(statement)
        what = names[0] if len(names) == 1 else Term(suspect.node.id, suspect.node.name)
        yield Cause("other", say("{} was computed once, before the loop", what), made)


def _causes(suspect: ModifiedSlot, writes: list[Written], context: ErrorContext) -> Iterator[Cause]:
    yield from _kept(suspect, writes, context)
    lines = {written.at: written for written in reversed(writes)}
    for written in sorted(lines.values(), key=lambda one: one.before)[:2]:
        yield Cause("write", _wrote(written, suspect, context.history), written.at)
    node, slot = suspect.node, suspect.slot
    made = context.history.made_at(node)
    if made is not None:
        saved = _name(suspect) or ("its result" if is_result(slot) else "a tensor")
        version = "" if slot.saved_version is None else f" at version {slot.saved_version}"
        words = say("{} saved {} as {}{}", Term(node.id, node.name), saved, slot.name, version)
        yield Cause("save", words, made)


def _other_name(written: Written, history: History) -> Sentence:
    if written.event is None:
        return Sentence()
    return through_other_name(history, *written.event, written.tensor)


def _wrote(written: Written, suspect: ModifiedSlot, history: History) -> Sentence:
    versions = f"version {written.before} became {written.after}"
    name = (
        None
        if written.name is None
        else Sentence(
            written.name if written.tensor is None else Term(written.tensor, written.name)
        )
    )
    if written.is_optimizer:
        return say("{}() updated {}: {}", written.by, name, versions)
    where = f" in {written.module}" if written.module else ""
    by = "the assignment" if written.by == "__setitem__" else written.by
    if name is None:
        return say("{}{} wrote {} in place: {}", by, where, _name(suspect) or "it", versions)
    whose: str = ""
    if suspect.name not in (None, written.name):
        shares = ", which shares the storage of {}"
        if written.tensor is not None and written.tensor == suspect.tensor:
            shares = ", which is {} in other code"
        elif written.through == "view":
            shares = ", a view on the storage of {}"
        whose = say(shares, _name(suspect))
    other = _other_name(written, history)
    return say("{}{} wrote {}{}{}: {}", by, where, name, other, whose, versions)


def _unknown(context: ErrorContext) -> Sentence:
    if context.is_recorded:
        words = "which line wrote it first: the recording does not contain that write. {}"
        return say(words, RECORD_EARLIER)
    return say("which line wrote it{}", context.how_to_know)


def _targets(
    suspect: ModifiedSlot, first: Written | None, context: ErrorContext
) -> dict[str, list[str | None]]:
    node = suspect.node
    slots = [i for i, slot in enumerate(node.saved) if slot.name == suspect.slot.name]
    writers: list[str | None] = []
    if first is not None and suspect.tensor is not None and not first.is_optimizer:
        history, step = context.history, first.step
        made = [node for node in history.nodes(step) if history.born(node.id) == step]
        writers += [
            n.id for n in made if operation_of(n) + "_" == first.by or n.name == "CopySlices"
        ]
    return {
        "node": [node.id],
        "slot": [f"{node.id}.saved.{place}" for place in slots[:1]],
        "writer": writers if len(writers) == 1 else [],
    }
