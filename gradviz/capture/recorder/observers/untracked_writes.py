"""Writes that leave no trace in the version counter: ``.data``, numpy, fused optimizers.

NOTE [Memory that others can write]
Such a write can only be noticed by comparing memory. That of every tensor after every line would
cost more than the lines, so memory is compared where something besides a call that the recording
sees can write it: what numpy or another library shares, which torch marks as memory that it cannot
resize, or has been given by a call in the recording; what has no version counter; parameters, while
an optimizer writes them in its own way; and everything, while calls are not seen, or once other
threads have got work. And what a call may write without counting it: the statistics of a BatchNorm
and whatever else the schemas of torch's operators say is written besides ``self`` and ``out``; all
that an operator of another library is given (F2.17). What a line may have written in this way is
compared until that line has ended, also after the lines of functions that it calls.

Not seen is what goes past torch by an address that was taken before the recording began, and what
a function in C writes of its arguments that is no operator of torch.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import torch

from gradviz.capture import autograd
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.recorder.observers.graph_reading import GraphReading
from gradviz.capture.recorder.observers.modules import ModuleCalls
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.observers.other_threads import OtherThreads
from gradviz.capture.recorder.registry import Registry, RegistryEntry
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.capture.recorder.torch_call import TorchCall, tensors_in
from gradviz.model.events import Event, OptimizerStepped, Write, WriteAgent

MOST_BYTES: Final = 4 << 20
"""Bytes of memory that are compared after each line; the smallest tensors come first."""
_GIVES_AWAY: Final = frozenset(
    {
        "__array__",
        "__cuda_array_interface__",
        "__dlpack__",
        "_typed_storage",
        "data_ptr",
        "numpy",
        "share_memory_",
        "storage",
        "untyped_storage",
    }
)
"""Functions of a tensor after which others can write its memory."""
_UNSEEN: Final = "a write that torch did not see (numpy, .data)"
_Named: TypeAlias = "list[tuple[RegistryEntry, torch.Tensor]]"


class UntrackedWrites(Observer):
    """Compares memory from line to line: NOTE [Memory that others can write].

    Args:
        registry: The known tensors.
        values: Whether numbers are read at all; without, such writes cannot be seen.
        writer: Where events are written.
        graph_reading: Notified of writes; notifies of what is about to be written unseen.
        modules: Tells of which module that has run a tensor is a buffer.
        lines: Knows how deep in followed functions a line runs.
        threads: Whether other threads may write.
    """

    def __init__(
        self,
        registry: Registry,
        values: bool,
        writer: StepWriter,
        graph_reading: GraphReading,
        modules: ModuleCalls,
        lines: LineEvents,
        threads: OtherThreads,
    ) -> None:
        self._modules = modules
        self._lines = lines
        self._threads = threads
        self._registry = registry
        self._values = values
        self._writer = writer
        self._graph_reading = graph_reading
        self._before: dict[int, tuple[int | None, int]] = {}
        self._given_away: dict[int, None] = {}
        """Numbers of storages that others can write."""
        self._by_lines: list[tuple[int, set[int] | None]] = []
        """What lines that run may write, with their depths; ``None``: anything."""
        graph_reading.unseen_writes = self.remember
        threads.first_work = self.remember

    def before(self, call: TorchCall) -> bool:
        """A call may be about to write unseen, or to give the memory of a tensor away."""
        if self._values:
            written = autograd.uncounted_writes(call.function, call.args, call.kwargs)
            if written:
                self.remember(tensors_in(written))
            if call.name in _GIVES_AWAY:
                tensors = [*tensors_in(call.args), *tensors_in(call.kwargs)]
                with autograd.unseen():
                    self._give_away(tensors)
                self.remember(tensors)
        return True

    def line_ended(self, error: Any, value: Any) -> None:
        """What the line may have written has been compared."""
        depth = self._lines.depth
        self._by_lines = [one for one in self._by_lines if one[0] < depth]

    def step_ends(self, unnamed: Any = None) -> None:
        """Record writes since the last step that no version counter shows."""
        for write in self.compare():
            self._writer.add(write)
            self._graph_reading.written([write])

    def compare(self) -> list[Write]:
        """Compare with the values at the last call."""
        if not self._values:
            self._registry.newly_stored.clear()
            return []
        found = [self._registry.entry(number) for number in self._registry.newly_stored]
        tensors = [e.ref() for e in found if e is not None]
        self._registry.newly_stored.clear()
        with autograd.unseen():
            self._give_away([t for t in tensors if t is not None and autograd.is_shared(t)])
        chosen = self._chosen()
        if chosen is not None and not chosen:
            self._before.clear()
            return []
        with autograd.arithmetic():
            writes = self._compare(chosen, self._writer.events)
        # NOTE [Cold code]: which line has written is known only if every line is told.
        self._writer.happened += self.compares
        return writes

    @property
    def compares(self) -> bool:
        """Whether memory is compared that this thread can write unseen."""
        return bool(self._before) and not self._shared().isdisjoint(self._before)

    def _chosen(self) -> set[int] | None:
        """Numbers of the storages that are compared; ``None``: all."""
        if self._threads.may_run or any(numbers is None for _, numbers in self._by_lines):
            return None
        return self._shared()

    def _shared(self) -> set[int]:
        """Numbers of the storages that this thread can write unseen."""
        return set(self._given_away).union(*(numbers or () for _, numbers in self._by_lines))

    def remember(self, tensors: Iterable[torch.Tensor] | None = None) -> None:
        """These tensors, or all, may be written unseen until the line that runs has ended."""
        if not self._values:
            return
        numbers = None
        with autograd.arithmetic():
            if tensors is not None:
                # Of tensors that are not known the storages get no number here.
                keys = {found[0] for t in tensors if (found := autograd.storage_of(t)) is not None}
                known = map(self._registry.storage_number, keys)
                numbers = {number for number in known if number is not None}
            for number, on_it in self._small(numbers):
                if number not in self._before:
                    version = autograd.version_of(on_it[0][1])
                    self._before[number] = version, checksum(on_it[0][1])
        self._by_lines.append((self._lines.depth, numbers))

    def _give_away(self, tensors: Iterable[torch.Tensor]) -> None:
        for tensor in tensors:
            number = self._registry.storage(tensor)
            if number is not None:
                self._given_away[number] = None

    def _compare(self, chosen: set[int] | None, events: Sequence[Event]) -> list[Write]:
        told = {e.storage for e in events if isinstance(e, Write)}
        stepped = [e.name for e in events if isinstance(e, OptimizerStepped)]
        now: dict[int, tuple[int | None, int]] = {}
        found: list[Write] = []
        for number, tensors in self._small(chosen):
            tensor = tensors[0][1]
            version = autograd.version_of(tensor)
            now[number] = version, checksum(tensor)
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
        name = entry.name or (None if buffer is None else buffer.name)
        return Write(
            by,
            tuple(e.id for e, _ in tensors),
            name or described(tensor),
            f"s{storage}",
            version,
            version,
            agent=agent,
            buffer_of=None if buffer is None else buffer.module,
            is_described=not name,
        )

    def _small(self, chosen: Iterable[int] | None) -> list[tuple[int, _Named]]:
        """Known tensors by storage, smallest first, as many as are compared.

        Args:
            chosen: Numbers of the storages that are asked for; ``None``: all.
        """
        groups: dict[int, _Named] = {}
        sizes: dict[int, int] = {}
        if chosen is None:
            known = self._registry.alive()
        else:
            known = (pair for n in sorted(chosen) for pair in self._registry.on_storage(n))
        for entry, tensor in known:
            if not (autograd.is_plain(tensor) and autograd.wait_until_written(tensor)):
                continue
            self._registry.moved(entry, tensor)
            number = entry.storage
            if number is not None:
                groups.setdefault(number, []).append((entry, tensor))
                sizes[number] = tensor.untyped_storage().nbytes()
        room = MOST_BYTES
        found = []
        for number in sorted(groups, key=lambda n: (sizes[n], n)):
            room -= sizes[number]
            if room < 0:
                break
            found.append((number, groups[number]))
        return sorted(found, key=lambda pair: pair[0])


def described(tensor: torch.Tensor) -> str:
    """What is said of a tensor without a name."""
    return f"{autograd.dtype_of(tensor)} {autograd.shape_of(tensor)}"


def checksum(tensor: torch.Tensor) -> int:
    """A number that changes with the memory of a tensor."""
    storage = tensor.untyped_storage()
    if not tensor.is_cpu:
        nothing = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        storage = nothing.set_(storage).cpu().untyped_storage()
    memory = (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())
    return zlib.crc32(memory)
