"""Buffers that DistributedDataParallel takes over from rank 0 before a forward."""

from __future__ import annotations

from types import FrameType
from typing import Any, Final

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.recorder.observers.graph_reading import GraphReading
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.observers.untracked_writes import checksum, described
from gradviz.capture.recorder.registry import Registry
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.model.events import Write

BY: Final = "DistributedDataParallel"


class BufferSyncs(Observer):
    """Compares buffers before and after: no call that the recording sees writes them.

    Args:
        registry: The known tensors.
        values: Whether numbers are read; without, a write that moves no version is not seen.
        writer: Where events are written.
        graph_reading: Reads tensors before they are written.
    """

    def __init__(
        self, registry: Registry, values: bool, writer: StepWriter, graph_reading: GraphReading
    ) -> None:
        self._registry = registry
        self._values = values
        self._writer = writer
        self._graph_reading = graph_reading
        self.codes = (autograd.code_of_buffer_sync(),)
        self._before: dict[int, tuple[torch.Tensor, int | None, int | None]] = {}

    def entered(self, frame: FrameType) -> None:
        """Note how the buffers are before."""
        owner = next((v for name, v in naming.local_variables(frame) if name == "self"), None)
        if not isinstance(owner, torch.nn.Module):
            return
        with autograd.unseen():
            buffers = [one for one in owner.buffers() if autograd.is_plain(one)]
            self._graph_reading.touch(buffers)
            self._graph_reading.about_to_change(buffers)
            self._before = {id(one): (one, *self._state(one)) for one in buffers}

    def left(self, frame: FrameType, value: Any, is_known: bool) -> None:
        """Each buffer that is another one now was written."""
        before, self._before = self._before, {}
        with autograd.unseen():
            for tensor, version, memory in before.values():
                now = self._state(tensor)
                if now != (version, memory):
                    write = self._write(tensor, version, now[0])
                    self._writer.add(write)
                    self._graph_reading.written([write])

    def _state(self, tensor: torch.Tensor) -> tuple[int | None, int | None]:
        with autograd.arithmetic():
            memory = checksum(tensor) if self._values else None
        return autograd.version_of(tensor), memory

    def _write(self, tensor: torch.Tensor, before: int | None, after: int | None) -> Write:
        entry = self._registry.know(tensor)
        storage = self._registry.storage(tensor)
        return Write(
            BY,
            (entry.id,),
            entry.name or described(tensor),
            None if storage is None else f"s{storage}",
            before,
            after,
            agent="module",
            is_described=not entry.name,
        )
