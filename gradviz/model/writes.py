"""Which write was the first to a saved tensor after it was saved, by version counters alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradviz.model.events import OptimizerStepped, Write
from gradviz.model.explanation import CodeLine
from gradviz.model.history import EventPlace, History
from gradviz.model.records import Node, SavedTensor


@dataclass(frozen=True, slots=True)
class Written:
    """One write that raised the version of a memory."""

    step: int
    by: str
    """``"add_"``, ``"SGD.step"``."""
    name: str | None
    """Variable it was written through."""
    before: int
    after: int
    through: str = ""
    """``"view"``, ``"detach"`` or ``""``."""
    module: str | None = None
    at: CodeLine | None = None
    tensor: str | None = None
    """Id of the tensor that has the name."""
    event: tuple[EventPlace, Write] | None = None
    """The write itself, with its place; ``None`` for that of an optimizer."""

    @property
    def is_optimizer(self) -> bool:
        """Whether an optimizer did it."""
        return self.by.endswith(".step")


def writes_since_save(slot: SavedTensor, node: Node, history: History, until: int) -> list[Written]:
    """Writes since a tensor was saved, the first one first.

    Empty if the first of them was not seen: a later one is not the culprit.

    Args:
        slot: The saved tensor.
        node: What saved it.
        history: The recording.
        until: The last step that counts.
    """
    saved = slot.saved_version
    if saved is None:
        return []
    seen = [*_earlier(slot, node, history), *_timeline(slot, node, history, until)]
    found = [w for w in seen if w.after > saved]
    return found if found and found[0].before <= saved else []


def _earlier(slot: SavedTensor, node: Node, history: History) -> Iterator[Written]:
    """Writes before the recording that an earlier one saw."""
    for one in history.written_earlier(node.id, slot.name):
        line = history.earlier_line(one)
        yield Written(0, one.by, one.name, one.before, one.after, one.through, one.module, line)


def _timeline(slot: SavedTensor, node: Node, history: History, until: int) -> Iterator[Written]:
    storage, tensors = _memory(slot, node, history, until)
    since = history.born(node.id) or 0
    for step in range(since, until + 1):
        span = history.span(step)
        first, last = (step, step) if span is None else span
        version = _version(slot, node, tensors, first - 1, history)
        after_it = _version(slot, node, tensors, last, history)
        events = history.recording.records[step].events
        if span is not None and not _is_only_writer(storage, span, history):
            continue
        for place, event in enumerate(events):
            if isinstance(event, Write) and event.storage is not None and event.storage == storage:
                if _counts(event, version, after_it):
                    version = event.after
                    yield _written(event, (step, place), history)
            elif isinstance(event, OptimizerStepped) and version is not None:
                hit = [t for t in tensors if t in event.updated]
                following = _next_write(events[place + 1 :], storage)
                after = after_it if following is None else following.before
                if hit and after is not None and after > version:
                    name, line = history.name(hit[0], until), history.line(step)
                    by = f"{event.name}.step"
                    yield Written(step, by, name, version, after, at=line, tensor=hit[0])
                    version = after


def _is_only_writer(storage: str | None, span: tuple[int, int], history: History) -> bool:
    """Whether, in steps that stand for many, one line alone wrote a memory: in which order several
    did is not known."""
    acts = sum(act.span == span for act in history.acts.get(storage, ()))
    return acts + sum(1 for _ in history.events(OptimizerStepped, span[1], span[0])) <= 1


def _counts(event: Write, before: int | None, after: int | None) -> bool:
    """Whether a write moved the counter that the saved tensor has.

    A tensor from ``.data`` lies in the same memory and has a counter of its own.
    """
    if event.before is None or event.after is None or event.before == event.after:
        return False
    is_before = before is None or event.before >= before
    is_after = after is None or event.after <= after
    return event.through != ".data" and is_before and is_after


def _memory(
    slot: SavedTensor, node: Node, history: History, until: int
) -> tuple[str | None, list[str]]:
    """The storage of a slot, and known tensors that share its version counter."""
    storage = slot.storage
    known = [slot.tensor, slot.view_of]
    for row in history.node_rows(node.id, until):
        for other in row.saved:
            if other.name == slot.name:
                storage = storage or other.storage
                known += [other.tensor, other.view_of]
    return storage, [key for key in dict.fromkeys(known) if key is not None]


def _version(
    slot: SavedTensor, node: Node, tensors: list[str], step: int, history: History
) -> int | None:
    """Version of the memory after a step: from the slot and tensors that share its counter."""
    told: list[int | None] = []
    row = history.node(node.id, step)
    told += [s.current_version for s in row.saved if s.name == slot.name] if row else []
    infos = [history.tensor(key, step) for key in tensors]
    told += [info.version for info in infos if info is not None]
    known = [version for version in told if version is not None]
    return max(known) if known else None


def _next_write(events: tuple[object, ...], storage: str | None) -> Write | None:
    found = (e for e in events if isinstance(e, Write) and e.storage == storage)
    return next(found, None)


def _written(event: Write, place: EventPlace, history: History) -> Written:
    step = place[0]
    called = history.call_of(place, event)
    infos = [info for info in history.tensors(step) if info.name == event.name]
    written = Written(
        step,
        event.by,
        event.variable,
        event.before or 0,
        event.after or 0,
        event.through,
        None if called is None else called.module,
        history.line(step),
        infos[0].id if infos else None,
        (place, event),
    )
    named = next(iter(called.outputs), None) if called is not None else None
    if named is not None and named.tensor in (event.tensors or (named.tensor,)) and named.tensor:
        name = history.name(named.tensor, step) or event.variable
        return replace(written, name=name, tensor=named.tensor)
    return written if named is None or infos else replace(written, name=None)
