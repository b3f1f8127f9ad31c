"""Which nodes the recorded thread has made, once other threads may make some too.

NOTE [Nodes of other threads]
Every thread counts the nodes that it makes for itself, from 0 (F1.08): a number says which line and
which module made a node only if this thread made it, and torch does not tell which thread did. As
long as the recorded code gives no thread work, all nodes that have not been there before are its
own. From then on a node is its own only if a call of this thread returned it, or something that
leads to it: it has one of the numbers that were given meanwhile, and neither did the call get it,
nor had it been read before. Of any other node line and module are not known.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

from gradviz.capture import autograd
from gradviz.capture.recorder.observers.other_threads import OtherThreads
from gradviz.capture.recorder.registry import Registry
from gradviz.capture.recorder.torch_call import tensors_in


class Begun(NamedTuple):
    """A call of this thread that runs."""

    first: int
    """The number that the next node of this thread had when it began."""
    given: list[Any]
    """The nodes of the tensors that it got."""


class OwnNodes:
    """Follows what calls of this thread return, as soon as that is needed.

    Args:
        registry: Numbers of nodes.
        threads: Whether others may run.
    """

    def __init__(self, registry: Registry, threads: OtherThreads) -> None:
        self._registry = registry
        self._own: set[int] = set()
        """Those that calls of this thread have made since others may run."""
        self._thread = threading.get_ident()
        self._before = 0
        """How many nodes had been met when the first of them got work: these are own ones, or were
        there before the recording."""
        self.is_needed = False
        """Whether others may make nodes, or may have made some."""
        threads.begin = self._begin

    def _begin(self) -> None:
        self._before, self.is_needed = self._registry.node_count, True

    def begun(self, given: Iterable[Any]) -> Begun | None:
        """A call of this thread begins.

        Args:
            given: Its arguments.
        """
        if not self.is_needed or threading.get_ident() != self._thread:
            return None  # a thread of the engine counts for itself
        with autograd.unseen():
            return Begun(autograd.sequence_number(), self._nodes_of(tensors_in(list(given), 3)))

    def returned(self, begun: Begun | None, result: Any) -> None:
        """It has returned.

        Args:
            begun: What :meth:`begun` returned.
            result: Its result.
        """
        if begun is None:
            return
        if type(result) is _ITERATOR:  # rows of a tensor that is iterated over
            result = result.__reduce__()[1][0]
        with autograd.unseen():
            self._note(self._nodes_of(tensors_in(result)), begun)

    def _note(self, nodes: list[Any], begun: Begun) -> None:
        registry, end = self._registry, autograd.sequence_number()
        seen = set(begun.given)
        while nodes:
            node = nodes.pop()
            if node in seen or not begun.first <= autograd.sequence_nr(node) < end:
                continue
            seen.add(node)
            is_new = registry.known_node(node) is None
            key = registry.node_number(node)
            if is_new:
                self._own.add(key)
            if key in self._own:  # a call inside of this one may have noted it already
                nodes += (one for one, _ in node.next_functions if one is not None)

    def _nodes_of(self, tensors: Iterable[torch.Tensor]) -> list[Any]:
        found = []
        for tensor in tensors:
            if tensor.requires_grad and not self._registry.may_be_stale(tensor):
                try:
                    node = tensor.grad_fn
                except RuntimeError:  # F1.14: a view that autograd can no longer follow
                    continue
                if node is not None:
                    found.append(node)
        return found

    def has(self, node: Any) -> bool:
        """Whether a node that has been met is known to be one of this thread, or was there before
        any other got work."""
        number = self._registry.node_number(node)
        return not self.is_needed or number < self._before or number in self._own


_ITERATOR = type(iter(()))
