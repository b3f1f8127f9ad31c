"""When the graph is read again: after lines that can have changed something in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.recorder.live_graph import LiveGraph
from gradviz.capture.recorder.namespaces import Namespaces, variable_of
from gradviz.capture.recorder.observers.known_hooks import KnownHooks
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.observers.other_threads import OtherThreads
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.capture.recorder.torch_call import TorchCall, tensors_in, writes_by_name
from gradviz.model import GraphBusyError
from gradviz.model.events import Died, Note, Write

_MOST_READ: Final = 300_000
"""Rows of nodes that are read again, because it is not known which have changed, before the
recording becomes coarser."""
_COARSE: Final = (
    "lines changed what the recording did not see, and the graph is too large to read it all "
    "after every such line: from here on, all of it is read when the code ends"
)
MOST_READ_FIRST: Final = 500
"""How many tensors are read before the code begins; the rest when first used."""


class GraphReading(Observer):
    """Reads the graph; writes which flags and hooks have changed and what no longer exists.

    Args:
        live_graph: Rows of the graph.
        writer: Where events are written.
        hooks: Learns the hooks of tensors from before the recording.
        threads: Whether others may change what is read.
    """

    def __init__(
        self, live_graph: LiveGraph, writer: StepWriter, hooks: KnownHooks, threads: OtherThreads
    ) -> None:
        self._live_graph = live_graph
        self._world = live_graph.registry
        self._writer = writer
        self._hooks = hooks
        self._is_dirty = False
        self._is_unknown = False
        """Whether anything may have changed, not only what the recording has seen."""
        self._threads = threads
        self._told_of_strangers = False
        self._rows_read = 0
        self._is_coarse = False
        self._returned: list[autograd.TensorRef] = []
        self.unseen_writes: Callable[[Iterable[torch.Tensor] | None], object] = _nothing
        """Is called before tensors, or any, may be written in a way that versions do not show."""

    @property
    def is_coarse(self) -> bool:
        """Whether rows are no longer read after every line."""
        return self._is_coarse

    def changed(self, unlisted: bool = False) -> None:
        """Something may have changed in the graph.

        Args:
            unlisted: Whether by what is not written down: anything may have changed then.
        """
        self._is_dirty = True
        if unlisted and not self._is_unknown:
            self._is_unknown = True
            self.unseen_writes(None)

    def about_to_change(self, tensors: Iterable[torch.Tensor]) -> None:
        """What a call that is no operation may change of tensors is read when the line ends."""
        self._is_dirty = True
        self._world.has_changed(tensors)

    def used(self, call: TorchCall) -> None:
        """A call has returned: its results are read, and what it may have changed is."""
        self._is_dirty = True
        self._world.has_changed(tensors_in(call.result))
        if _may_write(call):
            self._world.has_changed(call.tensors)

    def written(self, writes: Iterable[Write]) -> None:
        """Storages were written."""
        for write in writes:
            self._is_dirty = True
            self._live_graph.was_written(write.storage)

    def read_all(self) -> None:
        """Read everything once more, however large it is: nothing comes after it."""
        self._rows_read, self._is_dirty, self._is_unknown = 0, True, True

    def read(
        self,
        extra_roots: Sequence[tuple[Any, int]] = (),
        keep_roots: bool = False,
        unnamed: Any = None,
    ) -> None:
        """Read what may have changed; see :meth:`LiveGraph.read`."""
        everything = self._reads_everything()
        also = tensors_in(unnamed)
        for event in self._live_graph.read(extra_roots, everything, keep_roots, also):
            self._writer.add(event)

    def read_first(self, namespaces: Namespaces, used: dict[str, int]) -> None:
        """Read the tensors that the code is going to use as they are before it runs."""
        named = dict(naming.named_tensors([v for s in namespaces.mentioned() for v in s]))
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

    def returned(self, results: list[autograd.TensorRef]) -> None:
        """The results of a ``return`` have no name while a ``finally`` or the end of a ``with``
        runs, but belong to its line."""
        self._returned = results

    def refresh(self) -> None:
        """A hook has run: what it did to tensors belongs to its own step."""
        if self._is_dirty:
            self._is_dirty = False
            try:
                self.read(keep_roots=True)
            except GraphBusyError:
                self._wait_for_the_other_thread()

    def step_ends(self, unnamed: Any = None) -> None:
        """Read what is alive, and what tensors without a name lead to."""
        if self._threads.may_run:
            self.changed(unlisted=True)
        if self._returned:
            unnamed, self._returned = [ref() for ref in self._returned], []
        is_new = unnamed is not None and self._live_graph.leads_on(tensors_in(unnamed))
        if self._is_dirty or self._world.has_dead or is_new:
            self._is_dirty = False
            tensors, nodes = self._live_graph.bury()
            try:
                self.read(unnamed=unnamed)
            except GraphBusyError:
                self._wait_for_the_other_thread()
            more_tensors, more_nodes = self._live_graph.bury()
            if tensors or nodes or more_tensors or more_nodes:
                self._writer.add(Died(tensors + more_tensors, nodes + more_nodes))
        self._writer.measure()

    def _reads_everything(self) -> bool:
        """Whether everything is read again, since it is not known what has changed."""
        if not self._is_unknown:
            return False
        count = len(self._live_graph.nodes)
        if self._rows_read + count > _MOST_READ:
            if not self._is_coarse:
                self._is_coarse = True
                self._writer.add(Note("states not read", _COARSE))
            return False
        self._rows_read += count
        self._is_unknown = False
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
        self.changed(unlisted=True)
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


def _nothing(_: Iterable[torch.Tensor] | None) -> None:
    pass


def _may_write(call: TorchCall) -> bool:
    """Whether a call may change a tensor that it is given, besides what its version shows."""
    return writes_by_name(call) or None in call.versions
