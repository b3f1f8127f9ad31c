"""What earlier recordings know of what exists when a later one begins.

NOTE [Recordings of one session]
Forward runs in one cell and backward in the next: what the second recording sees was made before
it. Nodes that are still there have the sequence number that torch gave them, so that a later
recording finds them in an earlier one; what they saved, and what wrote that or freed it, follows
from the node. A recording between the two need not have seen the node: what a node holds keeps its
memory, so that no other has had the same address since, and writes to it are found by that.
What is found becomes part of the later recording, with the source text of the
earlier lines, so that it is complete in itself and the next one needs to look no further.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias

from gradviz.model.events import (
    BackwardEnded,
    Event,
    FreedEarlier,
    SavedEarlier,
    WrittenEarlier,
)
from gradviz.model.explanation import CodeLine
from gradviz.model.freed import freed_by
from gradviz.model.history import History
from gradviz.model.recording import Code, Recording, RowChanges, StepRecord
from gradviz.model.records import Node, SavedTensor
from gradviz.model.same_nodes import SameNodes
from gradviz.model.source_line import SourceLine
from gradviz.model.writes import Written, writes_since_save

CELL: Final = "cell"
"""What source text of a notebook is called."""
PROGRAM: Final = "program"
"""What is said of a script that ``gradviz run`` has started."""
RECORDED: Final = "recorded program"
"""What is said of one that is recorded."""
EARLIER: Final = "earlier cell"
"""What that of an earlier recording is called; of a second one ``"earlier cell 2"``."""


class Making(NamedTuple):
    """How an earlier recording saw a node being made."""

    source: SourceLine | None
    module: str | None
    calls: tuple[tuple[str, int], ...]


_Makings: TypeAlias = "Mapping[str, Making]"
"""By ids of nodes."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A recording that has ended, and the nodes that existed then."""

    recording: Recording
    nodes: Mapping[int, str]
    """Their ids by sequence number."""
    storages: Mapping[int, str] = field(default_factory=dict[int, str])
    """Ids of the storages that existed then, by their keys."""


def joined(
    recording: Recording,
    numbers: Mapping[str, int],
    storages: Mapping[str, int],
    earlier: Sequence[Remembered],
) -> Recording:
    """A recording with what earlier ones know of its nodes.

    Args:
        recording: The later recording.
        numbers: Sequence numbers of its nodes, by id.
        storages: Keys of its storages, by id.
        earlier: The earlier recordings, the last one first.
    """
    found = sorted(_found(recording.history, numbers, storages, earlier), key=lambda one: one.age)
    return _Joining(recording, storages, earlier).with_facts(found) if found else recording


class Found(NamedTuple):
    """A node that was there before."""

    age: int
    """Place of the earlier recording, 0 for the last one."""
    now: Node
    """As it is first seen."""
    before: Node
    """As the earlier recording had it at its end."""
    past: History
    """The earlier recording."""


def _found(
    history: History,
    numbers: Mapping[str, int],
    storages: Mapping[str, int],
    earlier: Sequence[Remembered],
) -> Iterator[Found]:
    same = [SameNodes(history, storages, one.recording.history, one.storages) for one in earlier]
    for key in history.node_ids if earlier else ():
        number = numbers.get(key)
        row = next(iter(history.node_rows(key, len(history.recording.records))[::-1]), None)
        if number is None or row is None or not history.was_there(key):
            continue
        for age, one in enumerate(earlier):
            past, other = one.recording.history, one.nodes.get(number)
            known = past.node(other, len(one.recording.records))
            if known is not None and same[age].may_be(row, known):
                yield Found(age, row, known, past)
                break


class _Joining:
    """Makes facts of earlier recordings part of a later one."""

    def __init__(
        self, recording: Recording, storages: Mapping[str, int], earlier: Sequence[Remembered]
    ) -> None:
        self._recording = recording
        self._storages = storages
        self._earlier = earlier
        self._codes = list(recording.codes)
        self._places: dict[tuple[int, int], int] = {}
        """Places of source texts, by that of the earlier recording and theirs in it."""
        self._needed: set[tuple[int, int]] = set()
        self._calls: dict[tuple[int, int], int] = {}
        """Numbers of calls that earlier recordings have seen, by that recording and theirs in it;
        below 0, so that no call of this one has them."""
        self._names: dict[tuple[int, str], str] = {}
        """What the cells of an earlier recording are called, by what that recording calls them."""

    def with_facts(self, found: Sequence[Found]) -> Recording:
        """The recording with what is known of these nodes."""
        self._facts(found)  # which source texts are needed
        for age, place in sorted(self._needed):  # the last recording first
            code = self._renamed(self._earlier[age].recording.codes[place], age)
            if code not in self._codes:
                self._codes.append(code)
            self._places[age, place] = self._codes.index(code)
        makings, events = self._facts(found)
        records = [_with_makings(step, makings) for step in self._recording.records]
        records[0] = replace(records[0], events=(*records[0].events, *events))
        recording = self._recording
        return Recording(
            records,
            self._codes,
            recording.device,
            recording.label,
            recording.kind,
            recording.modules,
            recording.order,
        )

    def _facts(self, found: Sequence[Found]) -> tuple[_Makings, list[Event]]:
        makings = {
            one.now.id: Making(self._source(one), one.before.module, self._calls_of(one))
            for one in found
        }
        events = (event for one in found for event in (*self._saved(one), *self._freed(one)))
        return makings, list(events)

    def _calls_of(self, one: Found) -> tuple[tuple[str, int], ...]:
        numbers = self._calls
        return tuple(
            (path, numbers.setdefault((one.age, number), -1 - len(numbers)))
            for path, number in one.before.calls
        )

    def _source(self, one: Found) -> SourceLine | None:
        line = one.past.made_at(one.before)
        place = self._place_of(line, one)
        if line is None or line.line is None or place < 0:
            return None
        file = self._codes[place].name.partition(":")[0]
        words = f"{file} line {line.line}: {line.text}".rstrip(": ")
        return SourceLine(words, line.line, line.text, file)

    def _saved(self, one: Found) -> Iterator[Event]:
        now, before, past = one.now, one.before, one.past
        end = len(past.recording.records) - 1
        rows = {slot.name: slot for slot in before.saved}
        for slot in now.saved:
            if slot.state == "freed" or slot.name not in rows:
                continue
            name = past.saved_name(before, slot.name, end)
            if name is not None and slot.tensor is None and slot.view_of is None:
                yield SavedEarlier(now.id, slot.name, name)
            known = replace(rows[slot.name], saved_version=slot.saved_version)
            writes = [(one, write) for write in writes_since_save(known, before, past, end)]
            for seen, write in (*writes, *self._written_since(one, slot, writes)):
                yield WrittenEarlier(
                    now.id,
                    slot.name,
                    write.by,
                    write.before,
                    write.after,
                    write.name,
                    write.through,
                    write.module,
                    self._place_of(write.at, seen),
                    _number(write.at),
                )

    def _written_since(
        self, one: Found, slot: SavedTensor, writes: Sequence[tuple[Found, Written]]
    ) -> Iterator[tuple[Found, Written]]:
        """Writes that recordings saw after the one that saw the node last."""
        key = self._storages.get(slot.storage or "")
        version = writes[-1][1].after if writes else slot.saved_version
        for age in range(one.age - 1, -1, -1):
            other = self._earlier[age]
            storage = None if key is None else other.storages.get(key)
            if storage is None:
                continue
            past = other.recording.history
            seen = Found(age, one.now, one.before, past)
            stranger = replace(one.before, id="")  # its id there may be that of another node
            end = len(other.recording.records) - 1
            on_it = [info.id for info in past.tensors(end) if info.storage == storage]
            there = replace(
                slot,
                saved_version=version,
                storage=storage,
                tensor=on_it[0] if len(on_it) == 1 else None,
                view_of=None,
            )
            for write in writes_since_save(there, stranger, past, end):
                yield seen, write
                version = write.after

    def _freed(self, one: Found) -> Iterator[Event]:
        now, before, past = one.now, one.before, one.past
        if now.state != "freed" or before.state != "freed":
            return
        known = past.freed_earlier(before.id)
        if known is not None:
            yield replace(known, node=now.id, code=self._place(one, known.code))
            return
        found = freed_by(before.id, past, len(past.recording.records) - 1)
        if found is not None:
            ended = [e for _, e in past.placed(BackwardEnded) if e.number == found.number]
            raised = any(event.raised for event in ended)
            place, line = self._place_of(found.at, one), _number(found.at)
            yield FreedEarlier(now.id, found.number, raised, place, line)

    # ------------------------------------------------------------------ source texts

    def _place_of(self, line: CodeLine | None, one: Found) -> int:
        place = one.past.code_place(line)
        return -1 if place is None else self._place(one, place)

    def _place(self, one: Found, place: int) -> int:
        """Place of a source text of an earlier recording among those of this one."""
        if not 0 <= place < len(one.past.recording.codes):
            return -1
        self._needed.add((one.age, place))
        return self._places.get((one.age, place), -1)

    def _renamed(self, code: Code, age: int) -> Code:
        """Source text as it is called here: cells have no names, and this one is another."""
        where, colon, function = code.name.partition(":")
        if where != CELL and not where.startswith(EARLIER):
            return code
        for number in range(1, len(self._codes) + 2):
            name = EARLIER if number == 1 else f"{EARLIER} {number}"
            same = replace(code, name=f"{name}{colon}{function}")
            others = [one for one in self._codes if one.name.partition(":")[0] == name]
            if same in others or not others or self._names.get((age, where)) == name:
                self._names[age, where] = name
                return same
        raise AssertionError("there are more names than source texts")


def _number(line: CodeLine | None) -> int | None:
    return None if line is None else line.line


def _with_makings(step: StepRecord, makings: _Makings) -> StepRecord:
    """A step whose rows say which earlier line made a node."""
    changes = step.changes
    if not any(key in makings for key, _ in changes.nodes):
        return step
    nodes = tuple((key, _with_making(row, makings.get(key))) for key, row in changes.nodes)
    return replace(step, changes=RowChanges(nodes, changes.tensors, changes.roots))


def _with_making(row: Node | None, known: Making | None) -> Node | None:
    if row is None or known is None:
        return row
    source = row.source or known.source
    if row.module is not None:
        return replace(row, source=source)
    return replace(row, source=source, module=known.module, calls=known.calls)
