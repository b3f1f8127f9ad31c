"""The order of what happened: when nodes were made, memory was written and backwards ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from gradviz.analysis.explaining.past import Past
from gradviz.analysis.explaining.statements import Statement, statement_at
from gradviz.model.events import (
    BackwardEnded,
    BackwardStarted,
    Event,
    NodeRan,
    Note,
    Operation,
    Write,
)
from gradviz.model.explanation import CodeLine
from gradviz.model.facts import Node, Number, TensorInfo
from gradviz.model.recording import Recording

Place: TypeAlias = "tuple[int, int]"
"""Step, and place among its events."""
UNKNOWN: Final = 1 << 30
"""Place of what happened at some time during its step."""
ASSIGNED: Final = "an assignment to .data"
"""Who wrote, if a tensor was given other memory."""
_SAME_MEMORY: Final = (
    "detach data alias view view_as reshape reshape_as flatten unflatten ravel expand expand_as "
    "squeeze unsqueeze t T mT H mH transpose permute movedim swapaxes swapdims adjoint "
    "__getitem__ select narrow diagonal unfold chunk split tensor_split unbind as_strided real "
    "imag"
)
ALIASES: Final = frozenset(_SAME_MEMORY.split())
"""Operations that give the same memory again, or a part of it."""


@dataclass(frozen=True, slots=True)
class Act:
    """A write in place."""

    place: Place
    event: Write
    operation: Operation | None = None
    """The call that wrote, if the recording saw one."""

    @property
    def is_exact(self) -> bool:
        """Whether it is known where in its line it happened."""
        return bool(self.event.reads) or self.is_assignment

    @property
    def is_assignment(self) -> bool:
        """Whether a tensor was given other memory: ``h.data = x``."""
        return self.event.by == ASSIGNED

    @property
    def written(self) -> str | None:
        """Key of the tensor object that was written, if it is known."""
        by, made = self.event.by, self.event.made
        if by == "__setitem__" or (by.endswith("_") and not by.startswith("_")):
            return next(iter(self.event.reads), None)
        return made[0] if len(made) == 1 else None

    def is_after(self, place: Place) -> bool:
        """Whether it certainly happened after something else."""
        if self.is_exact and place[1] != UNKNOWN:
            return self.place > place
        return self.place[0] > place[0]

    def is_before(self, place: Place) -> bool:
        """Whether it certainly happened before something else."""
        if place[0] == self.place[0] and (not self.is_exact or place[1] == UNKNOWN):
            return False
        return self.place < place


class Trail:
    """A recording, to be asked what happened before what.

    Args:
        recording: What is looked into.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.past = Past(recording)
        self.acts: dict[str | None, list[Act]] = defaultdict(list)
        """Writes by storage."""
        self.runs: list[tuple[Place, NodeRan]] = []
        """Nodes that backwards ran, without those of backwards that raised."""
        self.started: dict[int, tuple[Place, BackwardStarted]] = {}
        self.events: dict[type[Event], list[tuple[Place, Event]]] = defaultdict(list)
        raised = set()
        for step, facts in enumerate(recording.facts):
            raised |= {e.number for e in facts.events if isinstance(e, BackwardEnded) and e.raised}
            if any(isinstance(e, Note) and e.about == "steps left out" for e in facts.events):
                break  # from here on only some events are told
            self._read(step, facts.events)
        self.runs = [(place, ran) for place, ran in self.runs if ran.backward not in raised]
        for number in raised:
            self.started.pop(number, None)

    def _read(self, step: int, events: tuple[Event, ...]) -> None:
        for at, event in enumerate(events):
            place = (step, at)
            self.events[type(event)].append((place, event))
            if isinstance(event, Write) and not self._is_idle(event, step):
                act = Act(place, event, _call_of(event, events[at + 1 :]))
                self.acts[event.storage].append(act)
            elif isinstance(event, BackwardStarted):
                self.started[event.number] = place, event
            elif isinstance(event, NodeRan):
                self.runs.append((place, event))

    def _is_idle(self, write: Write, step: int) -> bool:
        """Whether an assignment gave a tensor the memory it has, as ``h.data *= 2`` does."""
        if write.by != ASSIGNED:
            return False
        rows = (self.tensor(key, step - 1) for key in write.tensors)
        return any(
            row is not None and row.name == write.name and row.storage == write.storage
            for row in rows
        )

    # ------------------------------------------------------------------ order

    @cached_property
    def births(self) -> dict[str, Place]:
        """When each node was made: by the first call that gave it or leads to it."""
        rows: dict[str, Node] = {}
        seen: dict[str, int] = {}
        for step, facts in enumerate(self.recording.facts):
            for key, row in facts.changes.nodes:
                if row is not None and key not in rows:
                    rows[key], seen[key] = row, step
        found = {key: (0, 0) for key, step in seen.items() if step == 0}
        for place, event in self.events[Operation]:
            if isinstance(event, Operation) and event.node is not None:
                _claim(event.node, place, rows, found)
        for key, step in seen.items():  # calls beyond the first few hundred of a line are not told
            if key not in found or step < found[key][0]:
                found[key] = (step, UNKNOWN)
        return found

    def birth(self, node: str) -> Place:
        """When a node was made."""
        return self.births.get(node, (0, UNKNOWN))

    def is_made_then(self, node: Node) -> bool:
        """Whether the line that torch's numbers tell is that in which a node was first seen."""
        made, seen = self.past.made_at(node), self.past.line(self.birth(node.id)[0])
        return made is not None and seen is not None and made.line == seen.line

    @cached_property
    def makers(self) -> dict[str, tuple[Place, Operation]]:
        """The call that made a tensor object, by its key."""
        found: dict[str, tuple[Place, Operation]] = {}
        for place, event in self.events[Operation]:
            if isinstance(event, Operation):
                for key in event.made:
                    if key not in event.reads:
                        found.setdefault(key, (place, event))
        return found

    def aliases(self, key: str | None) -> Iterator[tuple[Place, Operation]]:
        """Calls by which a tensor object was made from another with the same memory, the last
        one first; they end at a tensor that something else made."""
        while key is not None and key in self.makers:
            place, made = self.makers[key]
            if made.name not in ALIASES:
                return
            yield place, made
            key = next(iter(made.reads), None)

    # ------------------------------------------------------------------- rows

    def tensor(self, key: str | None, step: int) -> TensorInfo | None:
        """A tensor as it was after a step, if it was alive."""
        if key is None or not self.past.is_alive(key, step):
            return None
        return self.past.tensor(key, step)

    def values(self, key: str | None, step: int) -> tuple[Number, ...] | None:
        """Values of a tensor after a step, if they are known."""
        info = self.tensor(key, step)
        return None if info is None else info.values

    def name(self, key: str | None, step: int) -> str | None:
        """Name of a tensor, the last one it had."""
        return self.past.name(key, step)

    def line(self, place: Place | int) -> CodeLine | None:
        """The line that ran."""
        return self.past.line(place if isinstance(place, int) else place[0])

    def statement(self, place: Place | int) -> Statement | None:
        """The line that ran, as syntax."""
        return statement_at(self.recording, self.line(place))

    def has_leaf_on(self, storage: str | None, step: int) -> bool:
        """Whether the memory is that of a leaf that requires grad."""
        rows = (self.past.tensor(key, step) for key in self._on_storage.get(storage, ()))
        return any(
            row is not None and row.storage == storage and row.requires_grad and row.is_leaf
            for row in rows
        )

    @cached_property
    def _on_storage(self) -> dict[str | None, dict[str, None]]:
        """Tensors that were ever on a storage."""
        found: dict[str | None, dict[str, None]] = defaultdict(dict)
        for facts in self.recording.facts:
            for key, row in facts.changes.tensors:
                if row is not None:
                    found[row.storage][key] = None
        return found

    @cached_property
    def _readers(self) -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = defaultdict(list)
        for node in self.recording.graph.nodes:
            for key in {entry[0] for entry in node.next_functions if entry is not None}:
                found[key].append(node)
        return found

    def readers(self, node: str) -> list[Node]:
        """Nodes that hand their gradient on to a node."""
        return self._readers.get(node, [])


def _call_of(write: Write, following: tuple[Event, ...]) -> Operation | None:
    """The operation that a write was part of stands behind it."""
    for event in following:
        if isinstance(event, Operation):
            return event if event.name == write.by and write.reads == event.reads else None
        if not isinstance(event, Write):
            return None
    return None


def _claim(node: str, place: Place, rows: dict[str, Node], found: dict[str, Place]) -> None:
    """A call made a node, and all that it leads to and no call before has made."""
    todo = [node]
    while todo:
        key = todo.pop()
        if key in found:
            continue
        found[key] = place
        if key in rows:
            todo += [entry[0] for entry in rows[key].next_functions if entry is not None]
