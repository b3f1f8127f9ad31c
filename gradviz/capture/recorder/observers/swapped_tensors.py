"""``torch.utils.swap_tensors``, which torch refuses where weak references exist (F2.19)."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.recorder.observers.graph_reading import GraphReading
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.observers.operations import Operations
from gradviz.capture.recorder.registry import Registry
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.model.events import Note
from gradviz.model.sentence import listed

_MOST_NAMES: Final = 8
_Swap = tuple[FrameType, list[tuple[torch.Tensor, list[Callable[[torch.Tensor], None]]]]]
"""Frame of a swap, its tensors, and what makes the references to each anew."""


class SwappedTensors(Observer):
    """Lets go of two tensors while they are swapped.

    A tensor keeps its names and numbers, which are those of the object in Python. Its memory, its
    gradient, its node and all else that is read of it is that of the other one afterwards.

    Args:
        registry: The known tensors.
        operations: Knows how they were made.
        graph_reading: Reads everything after a swap.
        writer: Where notes are written.
    """

    def __init__(
        self,
        registry: Registry,
        operations: Operations,
        graph_reading: GraphReading,
        writer: StepWriter,
    ) -> None:
        self._registry = registry
        self._operations = operations
        self._graph_reading = graph_reading
        self._writer = writer
        self.codes = (autograd.code_of_swap(),)
        self._running: list[_Swap] = []
        self._numbers: dict[int, None] = {}
        """Known tensors that have got the content of others since the last step."""

    @property
    def is_quiet(self) -> bool:
        """Whether tensors are swapped: what that calls is no operation of the user's."""
        return bool(self._running)

    def entered(self, frame: FrameType) -> None:
        """Two tensors are about to be swapped."""
        tensors = [value for _, value in naming.local_variables(frame) if naming.is_tensor(value)]
        with autograd.unseen():
            self._graph_reading.touch(tensors)
            released = [(tensor, autograd.TensorRef.let_go(tensor)) for tensor in tensors]
            self._running.append((frame, released))

    def left(self, frame: FrameType, value: Any, is_known: bool) -> None:
        """They have been, or torch has refused."""
        while self._running:
            running, released = self._running.pop()
            for tensor, again in released:
                for refer in again:
                    refer(tensor)
            if running is frame and is_known and len(released) == 2:
                self._swapped(*(tensor for tensor, _ in released))
            if running is frame:
                break

    def _swapped(self, one: torch.Tensor, other: torch.Tensor) -> None:
        with autograd.unseen():
            self._registry.swapped(one, other)
            self._operations.swapped(one, other)
            entries = filter(None, map(self._registry.find, (one, other)))
            self._numbers.update({entry.number: None for entry in entries})
        self._graph_reading.about_to_change((one, other))
        self._graph_reading.changed(unlisted=True)

    def step_ends(self, unnamed: Any = None) -> None:
        """Write down which tensors have got other contents."""
        alive = filter(None, map(self._registry.entry, self._numbers))
        names = [entry.name_now or entry.id for entry in alive]
        self._numbers.clear()
        if names:
            whose = listed(names, _MOST_NAMES, "tensor")
            text = f"swap_tensors exchanged contents: {whose} now hold those of other tensors"
            self._writer.add(Note("tensors swapped", text))

    def stopped(self) -> None:
        """Hold no tensor."""
        self._running.clear()
