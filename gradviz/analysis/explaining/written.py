"""A saved tensor was written before backward read it."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.analysis.explaining.cures_saved import cures_of
from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.kinds import versions_in
from gradviz.analysis.explaining.suspects import Suspect, suspects_of
from gradviz.analysis.explaining.words import is_result, listed, operation_of, shape
from gradviz.analysis.explaining.writes import Written, writes_since_save
from gradviz.model.explanation import Cause, Explanation
from gradviz.model.facts import SavedTensor
from gradviz.model.marks import Mark


def explain(evidence: Evidence) -> Explanation:
    """Which tensor, which node saved it, who wrote it first, and how to go on."""
    found = suspects_of(evidence)
    if len(found) != 1:
        return _several(found, evidence)
    suspect = found[0]
    node, slot = suspect.node, suspect.slot
    writes = writes_since_save(slot, node, evidence)
    first = writes[0] if writes else None
    return Explanation(
        what=_what(suspect, evidence),
        why=_why(suspect, first),
        variables=_variables(suspect, first, evidence),
        node=node.id,
        node_name=node.name,
        saved=slot.name,
        saved_version=slot.saved_version,
        current_version=slot.current_version,
        causes=tuple(_causes(suspect, writes, evidence)),
        cures=tuple(cures_of(suspect, evidence))[:2],
        unknown=tuple(_unknown(first, evidence)),
        marks=tuple(_marks(suspect, first, evidence)),
    )


def _several(found: list[Suspect], evidence: Evidence) -> Explanation:
    """torch names no node, and none or several fit what it says."""
    names = list(dict.fromkeys(s.name for s in found if s.name))
    told = versions_in(evidence.raised.message)
    which = [f"{s.slot.name} of {s.node.name}" + (f" ({s.name})" if s.name else "") for s in found]
    unknown = (
        f"which of them torch was about to read: {listed(which)}"
        if found
        else "which node had saved it",
        *_unknown(None, evidence),
    )
    sizes = "" if told is None else f" of shape {shape(told[0])}"
    versions = "" if told is None else f" at version {told[1]}, and it is at version {told[2]}"
    node_names = {s.node.name for s in found}
    return Explanation(
        what=f"a tensor{sizes} was saved{versions} when backward needs it",
        why="a gradient from changed values would be wrong, so torch refuses",
        variables=tuple(names) if len(names) == 1 else (),
        node_name=node_names.pop() if len(node_names) == 1 else None,
        saved_version=None if told is None else told[1],
        current_version=None if told is None else told[2],
        unknown=unknown,
        marks=tuple(
            Mark(s.node.id, "written", "it may have saved what was written") for s in found
        ),
    )


# --- words -----------------------------------------------------------------------------------


def _what(suspect: Suspect, evidence: Evidence) -> str:
    node, slot = suspect.node, suspect.slot
    is_view = suspect.name is not None and slot.view_of is not None
    saved = f"a view of {suspect.name}" if is_view else suspect.name or _anonymous(slot)
    it = "it" if suspect.name is None or is_view else suspect.name
    if slot.saved_version is None:
        return f"{node.name} saved {saved}, which was written before backward needs it"
    return (
        f"{node.name} saved {saved} at version {slot.saved_version}, "
        f"but {it} is at version {slot.current_version} when backward needs it"
    )


def _anonymous(slot: SavedTensor) -> str:
    whose = "its result" if is_result(slot) else "a tensor"
    return f"{whose} ({slot.dtype} {shape(slot.shape or ())})"


def _why(suspect: Suspect, first: Written | None) -> str:
    if first is not None and first.is_optimizer:
        return (
            "backward goes on with the weights that this loss was computed with; the optimizer "
            "has overwritten them, so the gradient would be wrong and torch refuses"
        )
    source = "its result" if is_result(suspect.slot) else "what it saved"
    return (
        f"the gradient of {operation_of(suspect.node)} is computed from {source}; from changed "
        "values it would be wrong, so torch refuses"
    )


def _variables(suspect: Suspect, first: Written | None, evidence: Evidence) -> tuple[str, ...]:
    names = [suspect.name, None if first is None else first.name]
    return tuple(dict.fromkeys(name for name in names if name))


def _causes(suspect: Suspect, writes: list[Written], evidence: Evidence) -> Iterator[Cause]:
    lines = {written.at: written for written in reversed(writes)}
    for written in sorted(lines.values(), key=lambda one: one.before)[:2]:
        yield Cause("write", _wrote(written, suspect), written.at)
    node, slot = suspect.node, suspect.slot
    made = evidence.history.made_at(node)
    if made is not None:
        saved = suspect.name or ("its result" if is_result(slot) else "a tensor")
        version = "" if slot.saved_version is None else f" at version {slot.saved_version}"
        yield Cause("save", f"{node.name} saved {saved} as {slot.name}{version}", made)


def _wrote(written: Written, suspect: Suspect) -> str:
    versions = f"version {written.before} became {written.after}"
    if written.is_optimizer:
        return f"{written.by}() updated {written.name}: {versions}"
    where = f" in {written.module}" if written.module else ""
    by = "the assignment" if written.by == "__setitem__" else written.by
    if written.name is None:
        return f"{by}{where} wrote {suspect.name or 'it'} in place: {versions}"
    whose = ""
    if suspect.name not in (None, written.name):
        whose = f", which shares the memory of {suspect.name}"
        if written.through == "view":
            whose = f", a view of the memory of {suspect.name}"
    return f"{by}{where} wrote {written.name}{whose}: {versions}"


def _unknown(first: Written | None, evidence: Evidence) -> Iterator[str]:
    if first is not None:
        return
    if evidence.is_recorded:
        yield "which line wrote it first: the recording did not see that write"
    else:
        yield "which line wrote it; gradviz.record() around the code would tell"


def _marks(suspect: Suspect, first: Written | None, evidence: Evidence) -> Iterator[Mark]:
    node = suspect.node
    place = next((i for i, s in enumerate(node.saved) if s.name == suspect.slot.name), None)
    by = "" if first is None else f"{first.by} in {evidence.at(first.at)} wrote it"
    yield Mark(node.id, "refused", "it saved what was written afterwards")
    if place is not None:
        yield Mark(f"{node.id}.saved.{place}", "written", by or "written after it was saved")
    if first is not None and suspect.tensor is not None and not first.is_optimizer:
        made = [
            n
            for n in evidence.history.nodes(first.step)
            if evidence.history.born(n.id) == first.step
        ]
        writers = [n for n in made if operation_of(n) + "_" == first.by or n.name == "CopySlices"]
        if len(writers) == 1:
            yield Mark(writers[0].id, "culprit", by)
