"""Saved tensors that were written without a new version, and then used by backward."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import replicas
from gradviz.analysis.explain.fixes.untracked_writes import of_hidden
from gradviz.analysis.explain.silent.exemptions import is_scaled_with, may_be_put_back
from gradviz.analysis.explain.silent.saved_tensor_use import (
    looks_at_pattern,
    reads_values,
    same_pattern,
)
from gradviz.analysis.explain.silent.sentences import write_cause
from gradviz.analysis.explain.torch_names import is_result
from gradviz.model.events import NodeRan
from gradviz.model.explanation import Cause, Fix
from gradviz.model.formatting import shape
from gradviz.model.history import EventPlace, History, WriteEvent
from gradviz.model.records import Node, Number, SavedTensor
from gradviz.model.sentence import Term, say


@dataclass(frozen=True)
class SavedUse:
    """A slot that backward used."""

    place: EventPlace
    node: Node
    slot: SavedTensor
    at: int
    """Place of the slot among those of the node."""
    tensor: str | None
    """Known tensor that it is, or that it is a view of."""

    @property
    def covers(self) -> bool:
        """Whether the slot is the whole memory."""
        nbytes, whole = self.slot.nbytes, self.slot.storage_nbytes
        return nbytes is not None and whole is not None and nbytes >= whole


@dataclass(frozen=True, kw_only=True)
class UntrackedWrite(Finding):
    """A write to saved memory, and the first use of it."""

    act: WriteEvent
    use: SavedUse
    name: str
    """Variable that was saved, or a description."""
    is_only: bool
    """Whether no other node used what was written."""


def untracked_writes(history: History) -> Iterator[UntrackedWrite]:
    """Writes to saved tensors that did not change their version."""
    first: list[tuple[SavedUse, list[WriteEvent], list[SavedUse]]] = []
    by_act: dict[EventPlace, list[SavedUse]] = {}
    for place, ran in history.runs:
        for use in _uses(place, ran, history):
            acts = _harmful(use, history)
            if not acts:
                continue
            if acts[0].place not in by_act:
                uses: list[SavedUse] = []
                first.append((use, acts, uses))
                by_act |= {act.place: uses for act in acts}
            by_act[acts[0].place].append(use)
    for use, acts, uses in first:
        others = {one.node.id for one in uses} - {use.node.id}
        yield _finding(use, acts, not others, history)


def _uses(place: EventPlace, ran: NodeRan, history: History) -> Iterator[SavedUse]:
    held = [slot for slot in ran.used if slot.state == "held" and slot.storage in history.acts]
    if not held or _is_zero(ran):
        return
    node = history.node(ran.node, place[0])
    if node is None:
        return
    names = [slot.name for slot in node.saved]
    for slot in held:
        if reads_values(node, slot) and slot.name in names:
            key = slot.tensor or slot.view_of
            yield SavedUse(place, node, slot, names.index(slot.name), key)


def _is_zero(ran: NodeRan) -> bool:
    """Whether only zeros arrived, so that it hands on zeros whatever it saved."""
    norms = [grad.norm for grad in ran.grad_outputs if grad is not None]
    return bool(norms) and all(norm == 0 for norm in norms)


def _harmful(use: SavedUse, history: History) -> list[WriteEvent]:
    """Writes after which the values certainly differ."""
    born = history.birth(use.node.id)
    on_it = history.acts[use.slot.storage]
    acts = [act for act in on_it if act.is_after(born) and act.place < use.place]
    moves = [place for place, act in enumerate(acts) if act.is_assignment]
    if moves:  # before that the tensor had other memory
        acts = acts[moves[-1] :] if _is_move(acts[moves[-1]], use, history) else []
    if not acts or _is_made_up_for(use, acts, history):
        return []
    before, now = _saved_values(use, born, history), _used_values(use, acts, history)
    if before is not None and now is not None:
        if _same(use, before, now) or (use.slot.tensor is None and not use.covers):
            return []
        return _last_change(use, before, acts, history)
    if not use.covers and not any(_is_whole(act, use) for act in acts):
        return []  # it may be another part of the memory
    # Or what it was may be there again, or nothing that counts has changed.
    return [] if may_be_put_back(acts, history) or looks_at_pattern(use.node) else acts


def _is_made_up_for(use: SavedUse, acts: list[WriteEvent], history: History) -> bool:
    """Whether exp's result was scaled before anything read it: its gradient is scaled so too."""
    readers = (history.birth(reader.id) for reader in history.readers(use.node.id))
    return all(is_scaled_with(use.node, act, history) for act in acts) and all(
        act.is_before(born) for born in readers for act in acts
    )


def _is_move(act: WriteEvent, use: SavedUse, history: History) -> bool:
    """Whether an assignment to ``.data`` gave the saved tensor the memory it had then."""
    info = history.tensor_at(use.slot.tensor, act.place[0] - 1)
    return info is not None and info.name == act.event.name


def _saved_values(use: SavedUse, born: EventPlace, history: History) -> tuple[Number, ...] | None:
    """Values of the tensor when it was saved."""
    in_line = [act for act in history.acts[use.slot.storage] if act.place[0] == born[0]]
    if not in_line:
        return history.values(use.tensor, born[0])
    if all(act.is_after(born) for act in in_line):
        return history.values(use.tensor, born[0] - 1)
    return None


def _used_values(
    use: SavedUse, acts: list[WriteEvent], history: History
) -> tuple[Number, ...] | None:
    """Values of the tensor when backward used it."""
    if acts[-1].place[0] == use.place[0]:
        return None
    return history.values(use.tensor, use.place[0])


def _same(use: SavedUse, before: tuple[Number, ...], now: tuple[Number, ...]) -> bool:
    if before == now:
        return True
    whole = use.slot.tensor is not None or use.covers
    return whole and looks_at_pattern(use.node) and same_pattern(use.node, before, now)


def _last_change(
    use: SavedUse, before: tuple[Number, ...], acts: list[WriteEvent], history: History
) -> list[WriteEvent]:
    """Writes since the memory was last as it had been saved."""
    first = 0
    for place, act in enumerate(acts[:-1]):
        following = acts[place + 1].place[0]
        if following > act.place[0]:
            then = history.values(use.tensor, following - 1)
            if then is not None and _same(use, before, then):
                first = place + 1
    return acts[first:]


def _is_whole(act: WriteEvent, use: SavedUse) -> bool:
    """Whether a write covered the whole storage."""
    whole = use.slot.storage_nbytes
    shape, nbytes = use.slot.shape, use.slot.nbytes
    if act.operation is None or not act.operation.inputs or not shape or not nbytes:
        return False
    written = act.operation.inputs[0].shape
    if written is None or whole is None or not prod(shape):
        return False
    return prod(written) * (nbytes // prod(shape)) >= whole


def _finding(
    use: SavedUse, acts: list[WriteEvent], is_only: bool, history: History
) -> UntrackedWrite:
    step = use.place[0]
    tensor = use.tensor
    if tensor is None and is_result(use.slot):
        tensor = history.output_of(use.node.id, step)
    name = history.name(tensor, step)
    words = name or f"a tensor of shape {shape(use.slot.shape or ())}"
    key = None if name is None else tensor
    thing = words if key is None else Term(key, words)
    node, slot = use.node, use.slot
    term = Term(node.id, node.name)
    saved = history.made_at(node)
    causes = [write_cause(one, words, key, history) for one in acts[:3]]
    if saved is not None:
        causes.append(Cause("save", say("{} saved {} as {}", term, thing, slot.name), saved))
    return UntrackedWrite(
        history=history,
        step=step,
        noticed=history.line(step),
        words={
            "wrote": causes[0].what,
            "node": term,
            "stood": "no version changed"
            if slot.saved_version is None
            else f"its version stayed {slot.saved_version}",
            "it": thing,
            "line": history.line_term(causes[0].at),
        },
        variables=(name,),
        node=node,
        slot=slot,
        causes=tuple(causes),
        targets={"slot": [f"{node.id}.saved.{use.at}"], "it": [tensor]},
        by=acts[0].event.by,
        called=acts[0].event.agent == "call",
        site=site_of(history, acts[0].place, acts[0].event),
        act=acts[0],
        use=use,
        name=words,
        is_only=is_only,
    )


def fixes(found: UntrackedWrite) -> Iterator[Fix]:
    """Fixes for a write to a saved tensor."""
    if found.by == replicas.BY:
        yield from replicas.without_broadcast(found.history.recording)
    node = found.use.node if found.is_only else None
    yield from of_hidden(
        found.act, found.use.place, found.name, node, found.use.slot, found.history
    )
