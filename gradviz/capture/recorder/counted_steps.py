"""Many steps as few: one for all runs of a line, with how often it ran and what it did."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from gradviz.capture.recorder.counted_events import CountedEvents
from gradviz.model.events import Event, NodeRan, NodesRan, Note
from gradviz.model.formatting import plural
from gradviz.model.ids import by_number, number_of
from gradviz.model.recording import RowChanges, StepKind, StepRecord
from gradviz.model.records import Node, TensorInfo
from gradviz.model.step_numbers import PART

_ROOM: Final = 1_000
"""Events and rows above which those of what no longer exists are dropped."""


@dataclass(frozen=True, slots=True)
class WrittenStep:
    """A step, and what is known of it besides."""

    record: StepRecord
    allocated: int | None
    """Bytes that the allocators of the GPUs in use had given out."""

    @property
    def size(self) -> int:
        """How many events and changed rows it has."""
        changes = self.record.changes
        return len(self.record.events) + len(changes.nodes) + len(changes.tensors)

    @property
    def calls_a_function(self) -> bool:
        """Whether it is what a line has done before it calls a function."""
        notes = (event for event in self.record.events if isinstance(event, Note))
        return any(note.about == "calls a function" for note in notes)


class Rows:
    """Nodes and tensors as they are after a step.

    Args:
        first: Ids of those that existed before the recording; more are found while it runs.
    """

    def __init__(self, first: Iterable[Collection[str]]) -> None:
        self._first = tuple(first)
        self._rows: dict[str, Node | TensorInfo | None] = {}

    def go_on(self, changes: RowChanges) -> None:
        """Go on to the next step."""
        self._rows.update(changes.nodes)
        self._rows.update(changes.tensors)

    def forget(self, key: str) -> None:
        """Drop the row of what has begun and ceased to exist since."""
        del self._rows[key]

    def exists(self, key: str) -> bool:
        """Whether a node or tensor exists."""
        if key in self._rows:
            return self._rows[key] is not None
        return any(key in keys for keys in self._first)

    def storages(self) -> set[str | None]:
        """Storages of tensors that exist, or that a node that exists has saved."""
        found: set[str | None] = set()
        for row in self._rows.values():
            if isinstance(row, TensorInfo):
                found.add(row.storage)
            elif row is not None:
                found.update(slot.storage for slot in row.saved)
        return found

    def changes(self, keys: Iterable[str], roots: tuple[tuple[str, int], ...] | None) -> RowChanges:
        """The rows of these, as they are now."""
        nodes: list[tuple[str, Node | None]] = []
        tensors: list[tuple[str, TensorInfo | None]] = []
        for key in by_number(keys):
            row = self._rows[key]
            if key[0] == "n" and not isinstance(row, TensorInfo):
                nodes.append((key, row))
            elif not isinstance(row, Node):
                tensors.append((key, row))
        return RowChanges(tuple(nodes), tuple(tensors), roots)


@dataclass(slots=True)
class _Line:
    """All runs of a line of the code, or all that one line of another function has called."""

    last: WrittenStep
    """Its last run."""
    times: int = 0
    events: CountedEvents = field(default_factory=CountedEvents)
    called: _Lines = field(default_factory=dict)
    """Lines of functions that it called."""

    def join(self, other: _Line) -> None:
        """Add later runs."""
        self.last = other.last
        self.times += other.times
        self.events.add(other.events)
        _join(self.called, other.called)


_Lines: TypeAlias = "dict[tuple[StepKind, int, int | None, bool], _Line]"
"""By kind of step, code, number, and whether it is what the line did before it called."""


class CountedSteps:
    """Takes steps, one after another, and makes a few of them.

    The first of the few is of kind ``"counted"``: it has the changes of all rows and the order of
    the nodes that ran. The others are the lines that ran, in the order in which each ran first
    where it was called, with what happened in them; what happened inside a backward belongs to
    the line that called it.

    Args:
        after: The step before the first one.
        rows: What exists after that step. Goes on with the steps that are added.
    """

    def __init__(self, after: StepRecord, rows: Rows) -> None:
        self._after = after
        self._rows = rows
        self._lines: dict[int, _Lines] = {}
        """By depth, those that no line was seen to call so far."""
        self._inside = CountedEvents()
        """What happened inside a backward whose line has not ended."""
        self._nodes = array("Q")
        self._backwards: list[tuple[int, int]] = []
        self._existed: dict[str, bool] = {}
        """What has changed, and whether it existed before the first step."""
        self._roots: tuple[tuple[str, int], ...] | None = None
        self._steps = self._inner = 0
        self._saved_bytes = 0
        self._memory: list[int | None] = [None, None]
        """The most that was in use, and that the allocators had given out."""
        self._running: set[int | None] = set()
        """Numbers of the backwards that the steps were in."""
        self._size, self._room = 0, _ROOM

    def add(self, step: WrittenStep) -> None:
        """Count one more step."""
        record = step.record
        self._change(record.changes)
        self._saved_bytes = max(self._saved_bytes, record.saved_bytes)
        for place, number in enumerate((record.memory, step.allocated)):
            self._memory[place] = max(
                (n for n in (self._memory[place], number) if n is not None), default=None
            )
        self._running.add(record.backward)
        if record.depth > self._after.depth or record.level >= PART:
            self._inner += record.times or 1
        else:
            self._steps += record.times or 1
        self._inside.add(self._happened(record.events))
        if record.level == 0 and record.kind != "counted":
            self._line(step)
        self._size += step.size
        if self._size > self._room:
            self._compact()

    def _change(self, changes: RowChanges) -> None:
        for key, _ in (*changes.nodes, *changes.tensors):
            if key not in self._existed:
                self._existed[key] = self._rows.exists(key)
        self._rows.go_on(changes)
        if changes.roots is not None:
            self._roots = changes.roots

    def _happened(self, events: Iterable[Event]) -> Iterator[Event]:
        """What happened; how many steps were counted before, and in which order nodes ran, is
        noted."""
        for event in events:
            if isinstance(event, NodesRan):
                self._nodes.extend(event.nodes)
                for number, count in event.backwards:
                    self._ran(number, count)
            elif isinstance(event, NodeRan):
                self._nodes.append(number_of(event.node))
                self._ran(event.backward, 1)
            elif not (isinstance(event, Note) and event.about == "steps counted"):
                yield event

    def _ran(self, backward: int, count: int) -> None:
        last, before = self._backwards[-1] if self._backwards else (None, 0)
        if last == backward:
            self._backwards[-1] = backward, before + count
        else:
            self._backwards.append((backward, count))

    def _line(self, step: WrittenStep) -> None:
        record = step.record
        key = record.kind, record.code, record.line, step.calls_a_function
        line = self._lines.setdefault(record.depth, {}).setdefault(key, _Line(step))
        called: _Lines = {}
        for depth in sorted(depth for depth in self._lines if depth > record.depth):
            _join(called, self._lines.pop(depth))
        line.join(_Line(step, record.times or 1, self._inside, called))
        self._inside = CountedEvents()

    def _compact(self) -> None:
        """Drop what no longer exists and did not exist before."""
        exists, storages = self._rows.exists, self._rows.storages()

        def is_alive(key: str) -> bool:
            return key in storages if key[0] == "s" else exists(key)

        lines = list(_all(self._lines.values()))
        for events in (self._inside, *(line.events for line in lines)):
            events.compact(is_alive)
        for key in [key for key, was in self._existed.items() if not (was or exists(key))]:
            del self._existed[key]
            self._rows.forget(key)
        self._size = len(self._existed) + sum(len(line.events) for line in lines)
        self._room = 2 * self._size + _ROOM

    def steps(self) -> Iterator[WrittenStep]:
        """What the steps were, as few as there are lines."""
        self._compact()
        yield WrittenStep(self._first(), self._memory[1])
        for depth in sorted(self._lines):
            yield from _written(self._lines[depth])

    def _first(self) -> StepRecord:
        after = self._after
        backward = next(iter(self._running)) if len(self._running) == 1 else None
        numbers = plural(self._steps, "step")
        numbers += f" and {plural(self._inner, 'sub-step')}" if self._inner else ""
        text = f"{numbers} are counted, not listed one by one"
        events: list[Event] = [Note("steps counted", text, (self._steps, self._inner))]
        if self._nodes:
            events.append(NodesRan(tuple(self._nodes), tuple(self._backwards)))
        return StepRecord(
            "counted",
            0 if backward is None else 1,
            None if backward is None else after.line,
            after.code,
            None,
            (*events, *self._inside),
            self._rows.changes(self._existed, self._roots),
            self._saved_bytes,
            self._memory[0],
            backward,
            depth=after.depth,
            times=self._steps,
        )


def _join(lines: _Lines, more: _Lines) -> None:
    for key, line in more.items():
        if key in lines:
            lines[key].join(line)
        else:
            lines[key] = line


def _all(groups: Iterable[_Lines]) -> Iterator[_Line]:
    for lines in groups:
        for line in lines.values():
            yield line
            yield from _all([line.called])


def _written(lines: _Lines) -> Iterator[WrittenStep]:
    """A step for each line, after those of the lines that it called."""
    for line in lines.values():
        yield from _written(line.called)
        last = line.last.record
        events, nothing = tuple(line.events), RowChanges()
        made = StepRecord(
            last.kind,
            0,
            last.line,
            last.code,
            None,
            events,
            nothing,
            last.saved_bytes,
            last.memory,
            depth=last.depth,
            times=line.times,
        )
        yield WrittenStep(made, line.last.allocated)
