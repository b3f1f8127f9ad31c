"""Writes that leave no trace in the version counter: ``.data``, numpy, fused optimizers."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import torch

from gradviz.capture import autograd
from gradviz.capture.recorder.observers.graph_reading import GraphReading
from gradviz.capture.recorder.observers.modules import ModuleCalls
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.registry import Registry, RegistryEntry
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.model.events import Event, OptimizerStepped, Write, WriteAgent

MOST_BYTES: Final = 4 << 20
"""Bytes of memory that are compared after each line; the smallest tensors come first."""


_UNSEEN: Final = "a write that torch did not see (numpy, .data)"
_Named: TypeAlias = "list[tuple[RegistryEntry, torch.Tensor]]"


class UntrackedWrites(Observer):
    """Compares the memory of known tensors from line to line.

    Args:
        registry: The known tensors.
        values: Whether numbers are read at all; without, such writes cannot be seen.
        writer: Where events are written.
        graph_reading: Notified of writes.
        modules: Tells of which module that has run a tensor is a buffer.
    """

    def __init__(
        self,
        registry: Registry,
        values: bool,
        writer: StepWriter,
        graph_reading: GraphReading,
        modules: ModuleCalls,
    ) -> None:
        self._modules = modules
        self._registry = registry
        self._values = values
        self._writer = writer
        self._graph_reading = graph_reading
        self._before: dict[int, tuple[int | None, int]] = {}

    def step_ends(self, unnamed: Any = None) -> None:
        """Record writes since the last step that no version counter shows."""
        for write in self.compare():
            self._writer.add(write)
            self._graph_reading.written([write])

    def compare(self) -> list[Write]:
        """Compare with the values at the last call."""
        if not self._values:
            return []
        with autograd.arithmetic():
            return self._compare(self._writer.events)

    def _compare(self, events: Sequence[Event]) -> list[Write]:
        told = {e.storage for e in events if isinstance(e, Write)}
        stepped = [e.name for e in events if isinstance(e, OptimizerStepped)]
        now: dict[int, tuple[int | None, int]] = {}
        found: list[Write] = []
        for number, tensors in self._small():
            tensor = tensors[0][1]
            version = autograd.version_of(tensor)
            now[number] = version, _checksum(tensor)
            before = self._before.get(number)
            if before is None or before == now[number] or before[0] != version:
                continue
            if f"s{number}" in told:
                continue
            found.append(self._write(number, version, tensors, stepped))
        self._before = now
        return found

    def _write(
        self, storage: int, version: int | None, tensors: _Named, stepped: Sequence[str]
    ) -> Write:
        buffers = filter(None, (self._modules.buffer(tensor) for _, tensor in tensors))
        buffer = next(buffers, None)
        agent: WriteAgent = "unseen"
        by = _UNSEEN
        if stepped:
            by, agent = f"{stepped[0]}.step", "optimizer"
        elif buffer is not None:
            by, agent = f"{buffer.kind}.forward", "module"
        entry, tensor = next(((e, t) for e, t in tensors if e.name), tensors[0])
        name = entry.name or (buffer.name if buffer is not None else _described(tensor))
        return Write(
            by,
            tuple(e.id for e, _ in tensors),
            name,
            f"s{storage}",
            version,
            version,
            agent=agent,
            buffer_of=None if buffer is None else buffer.module,
        )

    def _small(self) -> list[tuple[int, _Named]]:
        """Known tensors by storage, smallest first, as many as are compared."""
        groups: dict[int, _Named] = {}
        sizes: dict[int, int] = {}
        for entry, tensor in self._registry.alive():
            if not (autograd.is_plain(tensor) and autograd.wait_until_written(tensor)):
                continue
            self._registry.moved(entry, tensor)
            number = entry.storage
            if number is not None:
                groups.setdefault(number, []).append((entry, tensor))
                sizes[number] = tensor.untyped_storage().nbytes()
        room = MOST_BYTES
        chosen = []
        for number in sorted(groups, key=lambda n: (sizes[n], n)):
            room -= sizes[number]
            if room < 0:
                break
            chosen.append((number, groups[number]))
        return sorted(chosen, key=lambda pair: pair[0])


def _described(tensor: torch.Tensor) -> str:
    return f"{autograd.dtype_of(tensor)} {autograd.shape_of(tensor)}"


def _checksum(tensor: torch.Tensor) -> int:
    storage = tensor.untyped_storage()
    if not tensor.is_cpu:
        nothing = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        storage = nothing.set_(storage).cpu().untyped_storage()
    memory = (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())
    return zlib.crc32(memory)
