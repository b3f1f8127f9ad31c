"""Steps and events as they are written down."""

from __future__ import annotations

from typing import NamedTuple

from gradviz.capture.cuda_memory import allocated_bytes
from gradviz.capture.recorder.counted_steps import Rows, WrittenStep
from gradviz.capture.recorder.kept_steps import KeptSteps
from gradviz.capture.recorder.live_graph import LiveGraph
from gradviz.capture.recorder.tensor_keys import TensorKeys
from gradviz.model.events import Event
from gradviz.model.recording import StepKind, StepRecord
from gradviz.model.step_numbers import depth_of


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

    @property
    def count(self) -> int:
        """How many steps and sub-steps were written."""
        return self._kept.count

    @property
    def steps(self) -> int:
        """How many of them are no sub-steps; the start is not counted."""
        return self._steps - 1

    def add(self, event: Event) -> None:
        """Note that something happened; it belongs to the next step."""
        self.events.append(event)

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
        return [
            WrittenStep(tensor_keys.settled(step.record), step.allocated)
            for step in self._kept.steps()
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
        self._kept.add(WrittenStep(record, allocated))
        self.events.clear()
