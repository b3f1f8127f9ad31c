"""When the graph is read again: after lines that can have changed something in it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

import torch

from gradviz.capture.recorder.live_graph import LiveGraph
from gradviz.capture.recorder.namespaces import Namespaces, variable_of
from gradviz.capture.recorder.observers.known_hooks import KnownHooks
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.capture.recorder.torch_call import tensors_in
from gradviz.model import GraphBusyError
from gradviz.model.events import BackwardEnded, Died, Note, OptimizerStepped, Write

_READ_ANYWAY: Final = 20_000
"""Rows of nodes that are read again after lines that can have changed nothing in them."""
_MOST_READ: Final = 300_000
"""Rows of nodes that are read again at all before the recording becomes coarser."""
_COARSE: Final = (
    "the graph is too large to read after every line: from here on, the states of saved tensors "
    "are read after each backward and when the code ends"
)
MOST_READ_FIRST: Final = 500
"""How many tensors are read before the code begins; the rest when first used."""


class GraphReading(Observer):
    """Reads the graph; writes which flags and hooks have changed and what no longer exists.

    Args:
        live_graph: Rows of the graph.
        writer: Where events are written.
        hooks: Learns the hooks of tensors from before the recording.
    """

    def __init__(self, live_graph: LiveGraph, writer: StepWriter, hooks: KnownHooks) -> None:
        self._live_graph = live_graph
        self._world = live_graph.registry
        self._writer = writer
        self._hooks = hooks
        self._is_dirty = False
        self._writes_unlisted = False
        self._threads = threading.active_count()
        self._told_of_strangers = False
        self._rows_read = 0
        self._is_coarse = False

    @property
    def is_coarse(self) -> bool:
        """Whether rows are no longer read after every line."""
        return self._is_coarse

    def changed(self, unlisted: bool = False) -> None:
        """Something may have changed in the graph.

        Args:
            unlisted: Whether by a call that is not written down, which may have been a write.
        """
        self._is_dirty = True
        self._writes_unlisted = self._writes_unlisted or unlisted

    def read_all(self) -> None:
        """Read everything once more, however large it is: nothing comes after it."""
        self._rows_read, self._is_dirty = 0, True

    def read_first(self, namespaces: Namespaces, used: dict[str, int]) -> None:
        """Read the tensors that the code is going to use as they are before it runs."""
        named = dict(namespaces.names())
        found = [name for name in named if variable_of(name) in used]
        found.sort(key=lambda name: used[variable_of(name)])
        tensors = [named[name] for name in found[:MOST_READ_FIRST]]
        with suppress(GraphBusyError):
            self._live_graph.read_existing(tensors)
        for tensor in tensors:
            self._hooks.learn(tensor)

    def touch(self, tensors: Iterable[torch.Tensor]) -> None:
        """Tensors are about to be used; those from before the recording are read first."""
        new = {id(t): t for t in tensors if self._world.existed(t) is not None}
        if new:
            try:
                self._live_graph.read_existing(list(new.values()))
            except GraphBusyError:
                self._wait_for_the_other_thread()
            self._is_dirty = True
            for tensor in new.values():
                self._hooks.learn(tensor)

    def refresh(self) -> None:
        """A hook has run: what it did to tensors belongs to its own step."""
        if self._is_dirty:
            self._is_dirty = False
            try:
                for event in self._live_graph.read(keep_roots=True):
                    self._writer.add(event)
            except GraphBusyError:
                self._wait_for_the_other_thread()

    def step_ends(self, unnamed: Any = None) -> None:
        """Read what is alive, and what tensors without a name lead to."""
        if threading.active_count() != self._threads:
            self._is_dirty = True
        if self._is_dirty or self._world.has_dead:
            self._is_dirty = False
            tensors, nodes = self._live_graph.bury()
            try:
                everything = self._reads_everything()
                for event in self._live_graph.read(everything=everything, also=tensors_in(unnamed)):
                    self._writer.add(event)
            except GraphBusyError:
                self._wait_for_the_other_thread()
            more_tensors, more_nodes = self._live_graph.bury()
            if tensors or nodes or more_tensors or more_nodes:
                self._writer.add(Died(tensors + more_tensors, nodes + more_nodes))
        self._writer.measure()

    def _reads_everything(self) -> bool:
        """Whether rows of nodes that were read before are read again after this line.

        They can have changed by a write in place or by a backward; small graphs are read again
        anyway, since names of saved tensors may be new.
        """
        count = len(self._live_graph.nodes)
        changed = self._writes_unlisted or any(
            isinstance(event, (Write, BackwardEnded, OptimizerStepped))
            for event in self._writer.events
        )
        self._writes_unlisted = False
        if not changed and self._rows_read + count > _READ_ANYWAY:
            return False
        if self._rows_read + count > _MOST_READ:
            if not self._is_coarse:
                self._is_coarse = True
                self._writer.add(Note("states not read", _COARSE))
            return False
        self._rows_read += count
        return True

    def _wait_for_the_other_thread(self) -> None:
        """Another thread runs backward on this graph: it is read after the next line."""
        self._is_dirty = True
        self._writer.add(
            Note(
                "other thread",
                "another thread runs backward() now: the graph is read after the next line",
            )
        )

    def other_thread_ran(self) -> None:
        """Another thread has run a backward."""
        self._is_dirty = True
        if not self._told_of_strangers:
            self._told_of_strangers = True
            self._writer.add(
                Note("other thread", "another thread ran backward(); its steps are not recorded")
            )

    def stopped(self) -> None:
        """Take the numbers out of all nodes, and drop all references."""
        try:
            self._live_graph.unmark()
        finally:
            self._world.forget()
