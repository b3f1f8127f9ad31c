"""Steps and events as they are written down.

NOTE [Calls in which nothing happens]
Most of the user's functions that are no part of the model, as a tokenizer or a reader of options,
call nothing of torch. A debugger would be told to step over them. Whether something happens in a
call is known only later, so its lines wait: they are written when the first thing happens, and
taken back if the call has returned before.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from gradviz.capture.cuda_memory import allocated_bytes
from gradviz.capture.recorder.counted_steps import Rows, WrittenStep
from gradviz.capture.recorder.kept_steps import KeptSteps
from gradviz.capture.recorder.live_graph import LiveGraph
from gradviz.capture.recorder.tensor_keys import TensorKeys
from gradviz.model.events import Event, LoopVariable, Note, Raised
from gradviz.model.progress import counted
from gradviz.model.recording import StepKind, StepRecord
from gradviz.model.step_numbers import depth_of

_MOST: Final = 40_000
"""Lines that wait at most; then all of them are steps, whatever comes."""


class MemoryInUse(NamedTuple):
    """What is in memory at a step."""

    live: int
    """Bytes of live storages that the recording knows."""
    allocated: int | None
    """Bytes that the allocators of the GPUs in use have given out, ``None`` if there are none."""


class StepWriter:
    """Collects events and makes steps of them.

    Args:
        live_graph: Rows of the graph; what changed in them goes into the next step.
        budget: How many steps, events and rows are kept; see
            :mod:`gradviz.capture.recorder.kept_steps`.
    """

    def __init__(self, live_graph: LiveGraph, budget: int) -> None:
        self.events: list[Event] = []
        self.budget = budget
        self._live_graph = live_graph
        self._kept = KeptSteps(budget, Rows((live_graph.first_nodes, live_graph.first_tensors)))
        self._memory: MemoryInUse | None = None
        self._steps = 0
        self._waiting: list[WrittenStep] = []
        """Lines of calls in which nothing has happened yet."""
        self._calls: list[tuple[int, int]] = []
        """Of each call that runs: how many steps were kept when it began, and how many waited."""
        self.count = 0
        """How many lines and parts of lines have run."""
        self.happened = 0
        """In how many of them something has happened: NOTE [Cold code]."""

    @property
    def steps(self) -> int:
        """How many of them are no sub-steps; the start is not counted."""
        return self._steps - 1

    def add(self, event: Event) -> None:
        """Note that something happened; it belongs to the next step."""
        self.events.append(event)

    def call_begins(self) -> None:
        """A function whose lines are followed begins: NOTE [Calls in which nothing happens]."""
        self._calls.append((self._kept.count, len(self._waiting)))

    def call_ended(self, failed: bool) -> None:
        """The last one has ended, or is left by an exception."""
        kept, waiting = self._calls.pop()
        if failed or kept != self._kept.count:
            self._keep_waiting()
        else:
            del self._waiting[waiting:]

    def _keep_waiting(self) -> None:
        for step in self._waiting:
            self._kept.add(step)
        self._waiting.clear()

    def measure(self) -> None:
        """Look how much memory is in use; it belongs to the next steps."""
        self._memory = self._in_use(None)

    def measure_freed(self, storages: list[int]) -> None:
        """Look again after these storages may have gone, if it was ever measured."""
        if self._memory is not None:
            self._memory = self._in_use(storages)

    def _in_use(self, perhaps_gone: list[int] | None) -> MemoryInUse:
        live = self._live_graph.registry.live_bytes(perhaps_gone)
        return MemoryInUse(live, allocated_bytes(self._live_graph.devices))

    def made(self, tensor_keys: TensorKeys) -> list[WrittenStep]:
        """The steps that are kept, and those that stand for others, with final keys of tensors."""
        self._keep_waiting()
        steps = self._kept.steps()
        return [
            WrittenStep(tensor_keys.settled(step.record), step.allocated)
            for step in counted(steps, "steps written", len(steps))
        ]

    def step(
        self,
        kind: StepKind,
        level: int,
        line: int | None,
        code: int,
        node: str | None = None,
        backward: int | None = None,
        seconds: float | None = None,
        depth: int = 0,
        times: int | None = None,
    ) -> None:
        """Write down everything since the last step as a step."""
        record = StepRecord(
            kind,
            level,
            line,
            code,
            node,
            tuple(self.events),
            self._live_graph.changes(),
            self._live_graph.saved_bytes,
            None if self._memory is None else self._memory.live,
            backward,
            seconds,
            depth,
            times,
        )
        self._steps += depth_of(record) == 0
        allocated = None if self._memory is None else self._memory.allocated
        step = WrittenStep(record, allocated)
        self.count += 1
        self._waiting.append(step)
        has_effect = kind != "line" or _has_effect(record)
        self.happened += kind != "line" or _has_happened(record)
        if not depth or has_effect or len(self._waiting) > _MOST:
            self._keep_waiting()
        self.events.clear()


def _has_happened(record: StepRecord) -> bool:
    """Whether a line has to do with torch: not if a loop has gone on to a number, or if the line
    has only raised."""
    return _has_changed(record) or not all(
        isinstance(event, Raised)
        or _is_left_out(event)
        or (isinstance(event, LoopVariable) and event.value.shape is None)
        for event in record.events
    )


def _has_effect(record: StepRecord) -> bool:
    """Whether more has happened in a line than that a loop has gone on."""
    return _has_changed(record) or not all(
        isinstance(event, LoopVariable) or _is_left_out(event) for event in record.events
    )


def _has_changed(record: StepRecord) -> bool:
    return bool(record.changes.nodes or record.changes.tensors)


def _is_left_out(event: Event) -> bool:
    """Whether it only says that lines before were not told."""
    return isinstance(event, Note) and event.about == "lines without torch"
