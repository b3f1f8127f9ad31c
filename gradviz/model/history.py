"""An index of a recording's past: what was written, read, made, freed and bound, and when."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from gradviz.model.calls import RecordedCall, calls_of
from gradviz.model.events import (
    BackwardEnded,
    BackwardStarted,
    Event,
    FirstRead,
    FlagChanged,
    FreedEarlier,
    Made,
    NodeRan,
    NodesRan,
    Note,
    NoteKind,
    Operation,
    Refused,
    SavedEarlier,
    Write,
    WrittenEarlier,
)
from gradviz.model.explanation import CodeLine
from gradviz.model.formatting import shape
from gradviz.model.records import Node
from gradviz.model.rows import Rows
from gradviz.model.sentence import Sentence, Term
from gradviz.model.source_line import SourceLine

if TYPE_CHECKING:
    from gradviz.model.node_names import NodeName

Kind = TypeVar("Kind", bound=Event)
EventPlace: TypeAlias = "tuple[int, int]"
"""Step, and place among its events."""
UNKNOWN: Final = 1 << 30
"""Place of what happened at some time during its step."""
_SAME_MEMORY: Final = (
    "detach data alias view view_as reshape reshape_as flatten unflatten ravel expand expand_as "
    "squeeze unsqueeze t T mT H mH transpose permute movedim swapaxes swapdims adjoint "
    "__getitem__ select narrow diagonal unfold chunk split tensor_split unbind as_strided real "
    "imag"
)
ALIASES: Final = frozenset(_SAME_MEMORY.split())
"""Operations that give the same memory again, or a part of it."""


@dataclass(frozen=True, slots=True)
class WriteEvent:
    """A write in place."""

    place: EventPlace
    event: Write
    operation: Operation | None = None
    """The call that wrote, if the recording saw one."""
    span: tuple[int, int] | None = None
    """The first and the last step at which it may have happened; ``None``: that of its place."""

    @property
    def is_exact(self) -> bool:
        """Whether it is known where in its line it happened."""
        return self.span is None and (bool(self.event.reads) or self.is_assignment)

    @property
    def is_assignment(self) -> bool:
        """Whether a tensor was given other memory: ``h.data = x``."""
        return self.event.agent == "assignment"

    @property
    def written(self) -> str | None:
        """Key of the tensor object that was written, if it is known."""
        by, made = self.event.by, self.event.made
        if by == "__setitem__" or (by.endswith("_") and not by.startswith("_")):
            return next(iter(self.event.reads), None)
        return made[0] if len(made) == 1 else None

    def is_after(self, place: EventPlace) -> bool:
        """Whether it certainly happened after something else."""
        if self.is_exact and place[1] != UNKNOWN:
            return self.place > place
        first = self.place[0] if self.span is None else self.span[0]
        return first > place[0]

    def is_before(self, place: EventPlace) -> bool:
        """Whether it certainly happened before something else."""
        if self.is_exact and place[1] != UNKNOWN:
            return self.place < place
        last = self.place[0] if self.span is None else self.span[1]
        return last < place[0]


class History(Rows):
    """Everything a recording knows, indexed once; ``recording.history`` is the one of a recording.

    Steps are places in ``recording.all_steps``; an :data:`EventPlace` is more exact and names an
    event of a step. Each answer is computed at its first use and kept.

    Args:
        recording: The recording that is indexed.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> with gradviz.record() as recording:
        ...     out = a * a
        ...     out.backward()
        >>> history = recording.history
        >>> history.born("n0"), history.node("n0", 1).state, history.node("n0", 9).state
        (1, 'holds', 'freed')
    """

    # ----------------------------------------------------------------- events

    @cached_property
    def _placed(self) -> dict[type[Event], list[tuple[EventPlace, Event]]]:
        found: dict[type[Event], list[tuple[EventPlace, Event]]] = defaultdict(list)
        for step, facts in enumerate(self.recording.records):
            for at, event in enumerate(facts.events):
                found[type(event)].append(((step, at), event))
        return found

    def events(self, kind: type[Kind], until: int, since: int = 0) -> Iterator[tuple[int, Kind]]:
        """Events of a kind with their steps, ``until`` included."""
        for (step, _), event in self.placed(kind):
            if since <= step <= until:
                yield step, event

    def told(self, kind: type[Kind]) -> Iterator[tuple[EventPlace, Kind]]:
        """Events of a kind with their places, up to where the recording has every step."""
        many = next((first for first, _ in self.counted), len(self.recording.records))
        for place, event in self.placed(kind):
            if place[0] < many:
                yield place, event

    def placed(self, kind: type[Kind]) -> Iterator[tuple[EventPlace, Kind]]:
        """All events of a kind with their places; some stand for many (:attr:`Event.times`)."""
        for place, event in self._placed.get(kind, ()):
            if isinstance(event, kind):
                yield place, event

    @cached_property
    def counted(self) -> tuple[tuple[int, int], ...]:
        """The first and the last of steps in a row that stand for many; in which order these did
        what they did is not known."""
        found: list[tuple[int, int]] = []
        for step, facts in enumerate(self.recording.records):
            if facts.times is not None:
                goes_on = found and found[-1][1] == step - 1
                found[-1:] = [(found[-1][0], step)] if goes_on else [*found[-1:], (step, step)]
        return tuple(found)

    def span(self, step: int) -> tuple[int, int] | None:
        """Those in a row that a step is one of; ``None`` for a step that is one alone."""
        if self.recording.records[step].times is None:
            return None
        return self.counted[bisect_right(self.counted, (step, len(self.recording.records))) - 1]

    def in_order(self, *kinds: type[Event]) -> list[tuple[int, Event]]:
        """All events of several kinds in the order in which they happened, with their steps."""
        if kinds not in self._merged:
            found = [placed for kind in kinds for placed in self._placed.get(kind, ())]
            found.sort(key=lambda placed: placed[0])
            self._merged[kinds] = [(place[0], event) for place, event in found]
        return self._merged[kinds]

    @cached_property
    def _merged(self) -> dict[tuple[type[Event], ...], list[tuple[int, Event]]]:
        return {}

    def notes(self, step: int) -> Iterator[NoteKind]:
        """What the notes of a step are about."""
        events = self.recording.records[step].events
        return (event.about for event in events if isinstance(event, Note))

    def is_partial(self, step: int) -> bool:
        """Whether not all calls of a step were noted, one by one."""
        is_counted = self.recording.records[step].times is not None
        return is_counted or "operations left out" in self.notes(step)

    # ------------------------------------------------------------------ lines

    def line(self, when: EventPlace | int | None) -> CodeLine | None:
        """The line that ran, or runs, at a step."""
        if when is None:
            return None
        step = when if isinstance(when, int) else when[0]
        facts, codes = self.recording.records[step], self.recording.codes
        if facts.line is None:
            return None
        if not 0 <= facts.code < len(codes):
            return CodeLine(facts.line, step=step)
        code = codes[facts.code]
        return CodeLine(facts.line, code.line(facts.line), code.name, step)

    def made_at(self, node: Node) -> CodeLine | None:
        """The line that made a node."""
        step = self.born(node.id)
        line = self.line(step) if step else None
        made, codes = node.source, self.recording.codes
        if not isinstance(made, SourceLine) or (line is not None and line.line == made.line):
            return line
        for code in codes:
            if code.name.partition(":")[0] == (made.file or "cell") and code.has(made.line):
                return CodeLine(made.line, made.code, code.name)
        if not made.file:
            same = {code.name for code in codes if code.line(made.line) == made.code}
            if made.code and len(same) == 1:
                return CodeLine(made.line, made.code, same.pop())
        return CodeLine(made.line, made.code, made.file)

    def is_made_then(self, node: Node) -> bool:
        """Whether sequence numbers give the same line as the one in which a node was first seen."""
        made, seen = self.made_at(node), self.line(self.birth(node.id))
        return made is not None and seen is not None and made.line == seen.line

    @cached_property
    def lines(self) -> tuple[int, ...]:
        """The steps that are no part of a backward's: lines, the start and the end."""
        return tuple(i for i, facts in enumerate(self.recording.records) if facts.level == 0)

    def next_line(self, step: int) -> int | None:
        """Number of the line that runs after a step, if it is in the same code; lines of functions
        that it calls are stepped over."""
        facts, depth = self.recording.records, self.recording.records[step].depth
        later = (facts[at] for at in self.lines[bisect_right(self.lines, step) :])
        following = next((one for one in later if one.depth <= depth), None)
        if following is None or following.kind == "end" or following.code != facts[step].code:
            return None
        return following.line if following.depth == depth or following.kind == "error" else None

    def code_place(self, line: CodeLine | None) -> int | None:
        """Place in ``recording.codes`` of the source text that a line belongs to."""
        recording = self.recording
        if line is None or line.line is None:
            return None
        if line.step is not None and 0 <= line.step < len(recording.records):
            facts = recording.records[line.step]
            if facts.line == line.line and 0 <= facts.code < len(recording.codes):
                return facts.code
        for place, code in enumerate(recording.codes):
            if line.code in ("", code.name) and code.has(line.line):
                return place
        return None

    # ---------------------------------------------------------------- writing

    @cached_property
    def acts(self) -> dict[str | None, list[WriteEvent]]:
        """Writes by storage, those that gave a tensor the memory it has left out."""
        found: dict[str | None, list[WriteEvent]] = defaultdict(list)
        for place, event in self.placed(Write):
            if not self._is_idle(event, place[0]):
                call, span = self.call_of(place, event), self.span(place[0])
                found[event.storage].append(WriteEvent(place, event, call, span))
        return found

    def call_of(self, place: EventPlace, write: Write) -> Operation | None:
        """The operation that a write was part of; its event follows that of the write."""
        for event in self.recording.records[place[0]].events[place[1] + 1 :]:
            if isinstance(event, Operation):
                return event if event.name == write.by and write.reads == event.reads else None
            if not isinstance(event, Write):
                return None
        return None

    def _is_idle(self, write: Write, step: int) -> bool:
        """Whether an assignment gave a tensor the memory it has, as ``h.data *= 2`` does."""
        if write.agent != "assignment":
            return False
        rows = (self.tensor_at(key, step - 1) for key in write.tensors)
        return any(
            row is not None and row.name == write.name and row.storage == write.storage
            for row in rows
        )

    # -------------------------------------------------- before the recording

    def was_there(self, node: str) -> bool:
        """Whether no line of the recording is known to have made a node."""
        return self.born(node) == 0 or node in self._first_read

    def was_freed(self, node: str) -> bool:
        """Whether a node was there before the recording, and its saved tensors were freed."""
        rows = self.node_rows(node, len(self.recording.records))
        return bool(rows) and rows[-1].state == "freed" and self.was_there(node)

    def freed_earlier(self, node: str) -> FreedEarlier | None:
        """What an earlier recording knows of the backward that freed what a node had saved."""
        return next((e for _, e in self.placed(FreedEarlier) if e.node == node), None)

    def written_earlier(self, node: str, slot: str) -> list[WrittenEarlier]:
        """Writes to a saved tensor that an earlier recording saw, the first one first."""
        found = [event for _, event in self.placed(WrittenEarlier)]
        return [event for event in found if (event.node, event.slot) == (node, slot)]

    def earlier_line(self, event: FreedEarlier | WrittenEarlier) -> CodeLine | None:
        """The line of what an earlier recording saw."""
        codes = self.recording.codes
        if event.line is None or not 0 <= event.code < len(codes):
            return None
        code = codes[event.code]
        return CodeLine(event.line, code.line(event.line), code.name)

    def saved_name(self, node: Node, slot: str, until: int) -> str | None:
        """What a saved tensor is, or was, called."""
        for row in self.node_rows(node.id, until):
            for other in row.saved:
                key = other.tensor or other.view_of
                if other.name == slot and key is not None:
                    return self.name(key, until)
        found = (
            e.name for _, e in self.placed(SavedEarlier) if (e.node, e.slot) == (node.id, slot)
        )
        return next(found, None)

    # ------------------------------------------------------------------ flags

    def switched_off(self, tensor: str, until: int) -> EventPlace | None:
        """When ``requires_grad`` was last switched off, if that held up to a step; ``None`` too if
        the recording did not see it.

        Where in its line a flag changed is not known. In the line of the step itself it is taken
        to be off: switched off before, or switched on after.
        """
        found = None
        for place, event in self._placed.get(FlagChanged, ()):
            if place[0] > until:
                break
            if not isinstance(event, FlagChanged) or event.tensor != tensor:
                continue
            if event.flag == "requires_grad" and (event.after is False or place[0] < until):
                found = place if event.after is False else None
        return found

    # ------------------------------------------------------------------ names

    @cached_property
    def texts(self) -> frozenset[str]:
        """Everything that a tensor was called at any step: names, and arguments of calls."""
        rows = (row for one in self._tensors.values() for row in one.rows if row is not None)
        found = {name for row in rows for name in row.names}
        given = [one for _, event in self.placed(Operation) for one in event.inputs]
        given += [one for _, event in self.placed(Refused) for one in event.inputs]
        return frozenset(found | {one.text for one in given if one.shape is not None})

    # ------------------------------------------------------------------ order

    @cached_property
    def births(self) -> dict[str, EventPlace]:
        """When each node was made: by the first call that gave it or leads to it."""
        first = {key: history.rows[0] for key, history in self._nodes.items()}
        seen = {key: history.steps[0] for key, history in self._nodes.items()}
        found = {key: (0, 0) for key, step in seen.items() if step == 0}
        for place, event in self.placed(Operation):
            todo = [event.node] if event.node is not None else []
            while todo:
                key = todo.pop()
                if key not in found:
                    found[key] = place
                    row = first.get(key)
                    entries = () if row is None else row.next_functions
                    todo += [entry[0] for entry in entries if entry is not None]
        for key, step in seen.items():  # only the first few hundred calls of a line are recorded
            if key not in found or step < found[key][0]:
                found[key] = (step, UNKNOWN)
        return found

    def birth(self, node: str) -> EventPlace:
        """When a node was made."""
        return self.births.get(node, (0, UNKNOWN))

    @cached_property
    def calls(self) -> tuple[RecordedCall, ...]:
        """All calls of torch, and writes in place, in the order in which they ran."""
        return tuple(calls_of(self))

    @cached_property
    def makers(self) -> dict[str, tuple[EventPlace, Operation]]:
        """The call that made a tensor object, by its key."""
        found: dict[str, tuple[EventPlace, Operation]] = {}
        for call in self.calls:
            event = call.operation
            if event is None:
                continue
            for key in call.made:
                if key not in event.reads:
                    found.setdefault(key, (call.place, event))
        return found

    @cached_property
    def _made(self) -> dict[str, int]:
        """Step at which each tensor object was made, as far as the recording saw it."""
        found: dict[str, int] = {}
        for step, event in self.in_order(Operation, Made):
            if isinstance(event, Operation):
                keys = [key for key in event.made if key not in event.reads]
            else:
                keys = list(event.tensors) if isinstance(event, Made) else []
            for key in keys:
                found.setdefault(key, step)
        return found

    @cached_property
    def _first_read(self) -> frozenset[str]:
        """Nodes that no line of the recording is known to have made."""
        events = [event for _, event in self._placed.get(FirstRead, ())]
        return frozenset(n for e in events if isinstance(e, FirstRead) for n in e.nodes)

    def is_made(self, key: str, steps: range) -> bool:
        """Whether one of these steps is known to have made a tensor or node that begins to be part
        of the recording at one of them. What was there before may be read first when it is used."""
        if key in self._tensors:
            return self._made.get(key, -1) in steps
        return key in self._nodes and key not in self._first_read

    def aliases(self, key: str | None) -> Iterator[tuple[EventPlace, Operation]]:
        """Calls by which a tensor object was made from another with the same memory, the last
        one first; they end at a tensor that something else made."""
        while key is not None and key in self.makers:
            place, made = self.makers[key]
            if made.name not in ALIASES:
                return
            yield place, made
            key = next(iter(made.reads), None)

    # --------------------------------------------------------------- backward

    @cached_property
    def _raised(self) -> frozenset[int]:
        """Numbers of the backwards that raised."""
        return frozenset(event.number for _, event in self.placed(BackwardEnded) if event.raised)

    @cached_property
    def node_runs(self) -> dict[tuple[int, str], tuple[EventPlace, NodeRan]]:
        """When each backward, by its number, ran each node, by its id, with its gradients."""
        return {(e.backward, e.node): (p, e) for p, e in self.placed(NodeRan)}

    @cached_property
    def node_order(self) -> list[tuple[int, NodeRan]]:
        """All that backwards ran, in order, with the steps; without gradients where only the order
        is recorded, and then without nodes that had ceased to exist by that step."""
        found: list[tuple[int, NodeRan]] = []
        for step, event in self.in_order(NodeRan, NodesRan):
            if isinstance(event, NodeRan):
                found.append((step, event))
            elif isinstance(event, NodesRan):
                nodes = event.of_backwards()
                found += [(step, NodeRan(number, n)) for number, n in nodes if n in self._nodes]
        return found

    @cached_property
    def ran_in(self) -> dict[str, list[tuple[int, int]]]:
        """The backwards that ran each node, the first one first: number and step."""
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for step, event in self.node_order:
            found[event.node].append((event.backward, step))
        return found

    @cached_property
    def backward_starts(self) -> dict[int, BackwardStarted]:
        """How each backward began, by its number."""
        return {event.number: event for _, event in self.placed(BackwardStarted)}

    @cached_property
    def runs(self) -> list[tuple[EventPlace, NodeRan]]:
        """Nodes that backwards ran, without those of backwards that raised."""
        return [(p, ran) for p, ran in self.told(NodeRan) if ran.backward not in self._raised]

    @cached_property
    def _ran(self) -> dict[int, tuple[list[int], list[NodeRan]]]:
        """Steps, and what ran at each, by backward."""
        found: dict[int, tuple[list[int], list[NodeRan]]] = defaultdict(lambda: ([], []))
        for step, event in self.node_order:
            found[event.backward][0].append(step)
            found[event.backward][1].append(event)
        return dict(found)

    def ran(self, backward: int, step: int) -> tuple[Sequence[NodeRan], Sequence[NodeRan]]:
        """Nodes that a backward ran up to a step, also if it raised later, and those it ran
        after."""
        steps, events = self._ran.get(backward, ([], []))
        place = bisect_right(steps, step)
        return events[:place], events[place:]

    @cached_property
    def started(self) -> dict[int, tuple[EventPlace, BackwardStarted]]:
        """Backwards by number, without those that raised."""
        found = {event.number: (place, event) for place, event in self.placed(BackwardStarted)}
        return {number: pair for number, pair in found.items() if number not in self._raised}

    # ------------------------------------------------------------------ words

    def called(self, key: str, step: int) -> str:
        """What a tensor is called in a sentence: by its name; by that which another tensor has by
        now; by the call that made it; else by its dtype and shape."""
        row, name = self.tensor(key, step), self.name(key, step)
        if row is None:
            return key
        if name is not None:
            return f"the earlier {name}" if self.is_renamed(key, step) else name
        made = self.makers.get(key)
        if made is not None and made[0][0] <= step:
            line = self.recording.records[made[0][0]].line
            return f"result of {made[1].name}" + (f" in line {line}" if line is not None else "")
        return f"{row.dtype} {shape(row.shape)}"

    def tensor_term(self, key: str | None, step: int, otherwise: str = "a tensor") -> Sentence:
        """A tensor in a sentence, by the last name it had; ``otherwise`` if it is not known."""
        if key is None or self.tensor(key, step) is None:
            return Sentence(otherwise)
        return Sentence(Term(key, self.name(key, step) or self.called(key, step)))

    def node_name(self, key: str) -> NodeName | None:
        """What a node is called; ``None`` for a leaf's, which has the name of its tensor."""
        return self._node_names.get(key)

    @cached_property
    def _node_names(self) -> Mapping[str, NodeName]:
        from gradviz.model.node_names import node_names

        return node_names(self)

    def line_term(self, line: CodeLine | None) -> Sentence:
        """``line 4`` in a sentence; of other code than the recorded one with its name."""
        if line is None or line.line is None:
            return Sentence("a line that is not known")
        place, codes = self.code_place(line), self.recording.codes
        is_recorded = self.recording.kind != "post-mortem"
        own = codes[0].name if codes and is_recorded else "cell"
        where = f" of {line.code}" if line.code not in ("", own) else ""
        words = f"line {line.line}"
        if place is None or not is_recorded:
            return Sentence(words + where)
        return Sentence(Term(f"line:{place}:{line.line}", words, line.step), where)
