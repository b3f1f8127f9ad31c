"""``torch.utils.swap_tensors``, which torch refuses for tensors that are referred to weakly."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.recorder.observers.graph_reading import GraphReading
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.observers.operations import Operations
from gradviz.capture.recorder.registry import Registry

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
    """

    def __init__(
        self, registry: Registry, operations: Operations, graph_reading: GraphReading
    ) -> None:
        self._registry = registry
        self._operations = operations
        self._graph_reading = graph_reading
        self._code = autograd.code_of_swap()
        self._running: list[_Swap] = []

    @property
    def is_quiet(self) -> bool:
        """Whether tensors are swapped: what that calls is no operation of the user's."""
        return bool(self._running)

    def watches(self, code: CodeType) -> bool:
        """Whether a function swaps tensors."""
        return code is self._code

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
        self._graph_reading.about_to_change((one, other))
        self._graph_reading.changed(unlisted=True)

    def stopped(self) -> None:
        """Hold no tensor."""
        self._running.clear()
