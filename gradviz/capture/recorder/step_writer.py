"""Steps and events as they are written down."""

from __future__ import annotations

from typing import Final, NamedTuple

from gradviz.capture.cuda_memory import allocated_bytes
from gradviz.capture.recorder.live_graph import LiveGraph
from gradviz.capture.recorder.tensor_keys import TensorKeys
from gradviz.model.events import (
    BackwardEnded,
    BackwardStarted,
    Event,
    Note,
    OptimizerStepped,
    ZeroedGrad,
)
from gradviz.model.recording import StepKind, StepRecord

MOST_STEPS: Final = 2_000
"""Number of steps after which everything later becomes one step."""
_TOLD_LATER: Final = (BackwardStarted, BackwardEnded, OptimizerStepped, ZeroedGrad)
MOST_EVENTS: Final = 200
"""Operations that one step lists."""


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
    """

    def __init__(self, live_graph: LiveGraph) -> None:
        self.made: list[StepRecord] = []
        self.events: list[Event] = []
        self._live_graph = live_graph
        self._left_out = 0
        self._told_later: list[Event] = []
        self._memory: MemoryInUse | None = None
        self.allocated: list[int | None] = []
        """Per step what the allocators of GPUs have given out."""

    @property
    def is_full(self) -> bool:
        """Whether the recording has become coarse."""
        return len(self.made) >= MOST_STEPS

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

    def settle(self, tensor_keys: TensorKeys) -> None:
        """Give tensors in all steps their final keys."""
        self.made = tensor_keys.settled(self.made)

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
    ) -> None:
        """Write down everything since the last step as a step."""
        if self.is_full and kind not in ("error", "end"):
            self._left_out += 1
            # Events of backwards and optimizers are complete only at their end.
            self._told_later += [e for e in self.events if isinstance(e, _TOLD_LATER)]
            self._told_later = self._told_later[-20:]
            self.events.clear()
            return
        if self._left_out:
            self.events[:0] = self._told_later
            text = (
                f"{self._left_out} more steps and sub-steps are left out: a recording lists the "
                f"first {MOST_STEPS}; this step has the changes of all of them"
            )
            self.events.append(Note("steps left out", text, (self._left_out,)))
            self._left_out = 0
        self.allocated.append(None if self._memory is None else self._memory.allocated)
        self.made.append(
            StepRecord(
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
            )
        )
        self.events.clear()
