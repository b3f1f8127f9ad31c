"""The tensors of one reading of the graph, with the ids that they have in the recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.recorder.registry import Registry, RegistryEntry
from gradviz.capture.tensors import Known, Storages, Tensors
from gradviz.model import TensorInfo


class _WorldStorages(Storages):
    """Numbers that storages have for the whole recording."""

    def __init__(self, registry: Registry) -> None:
        super().__init__()
        self._registry = registry

    def number_of(self, key: int, tensor: torch.Tensor) -> int:
        number = self._registry.storage_number(key)
        if number is None:
            number = self._registry.storage(tensor)
        assert number is not None
        return number


class RunTensors(Tensors):
    """Tensors that are read now; others of the recording join them when a node has saved them.

    Args:
        registry: Numbers of tensors, nodes and storages.
        read: The tensors that are read.
        index: Place of each node that was walked.
        nodes: Those nodes in the order in which they get their numbers.
        values: Whether numbers are read.
        row_of: The last row of a tensor.
    """

    def __init__(
        self,
        registry: Registry,
        read: Sequence[tuple[RegistryEntry, torch.Tensor]],
        index: dict[Any, int],
        nodes: Sequence[Any],
        values: bool,
        row_of: Callable[[str], TensorInfo | None],
    ) -> None:
        self._registry = registry
        self._nodes = nodes
        self._row_of = row_of
        self._joined: set[int | None] = set()
        self.node_ids: list[str] = []
        """Ids of the nodes by their place in the index."""
        known = [self._known(entry, tensor, True) for entry, tensor in read]
        super().__init__(known, index, values, _WorldStorages(registry))

    def _known(self, entry: RegistryEntry, tensor: torch.Tensor, is_read: bool) -> Known:
        is_fresh = not self._registry.may_be_stale(tensor)
        return Known(tensor, entry.name_now, is_read, entry.aliases_now, is_root=is_fresh)

    def _find(self, tensor: torch.Tensor) -> int | None:
        at = super()._find(tensor)
        if at is None:
            entry = self._registry.entries.get(id(tensor))
            if entry is not None:
                at = self._add(self._known(entry, tensor, False))
        return at

    def _place(self, one: Known, at: int) -> None:
        super()._place(one, at)
        if one.is_leaf is None:
            one.is_leaf = autograd.is_leaf_unasked(one.tensor, self._was_leaf(one))
        if one.is_leaf or one.node is not None or one.storage is None:
            return
        if one.tensor.requires_grad and not self._registry.may_be_stale(one.tensor):
            try:
                node = one.tensor.grad_fn
            except RuntimeError:  # F1.14: a view that autograd can no longer follow
                return
            if node is not None and self._registry.known_node(node) is not None:
                # Its node was read before, and is not read now.
                self._by_storage.setdefault(one.storage, []).append(at)

    def _was_leaf(self, one: Known) -> bool | None:
        """Whether a view was a leaf when it was last read, if it is on the same storage still."""
        entry = self._registry.entries.get(id(one.tensor))
        row = None if entry is None else self._row_of(entry.id)
        if row is None or one.storage is None:
            return None
        is_same = row.storage == f"s{self._registry.storage_number(one.storage)}"
        return row.is_leaf if is_same else None

    def _outputs_on(self, storage: int | None) -> Sequence[int]:
        if storage is not None and storage not in self._joined:
            self._joined.add(storage)
            for _, tensor in self._registry.on_storage(self._registry.storage_number(storage)):
                self._find(tensor)
        return super()._outputs_on(storage)

    def choose(self) -> None:
        """Give all their ids; those are shown that are read now, are new, or have a new node."""
        super().choose()
        registry = self._registry
        for one in self.shown:
            if one.storage is not None:
                self.storages.number_of(one.storage, one.tensor)
        self.node_ids = [""] * len(self._index)
        for node in self._nodes:
            self.node_ids[self._index[node]] = f"n{registry.node_number(node)}"
        for one in self._candidates:
            if one.id:
                one.id = registry.know(one.tensor).id
        self.shown = [one for one in self.shown if one.is_asked_for or self._has_new_node(one)]
        for one in self.shown:
            entry = registry.know(one.tensor)
            # A leaf that the walk has found has a name too if it is in sight.
            one.name, one.aliases = entry.name_now, entry.aliases_now
            registry.moved(entry, one.tensor)
            registry.has_grad(entry, one.grad)

    def _has_new_node(self, one: Known) -> bool:
        row = self._row_of(one.id)
        return row is None or (one.node is not None and row.node != self.node_id(one.node))

    def node_id(self, place: int) -> str:
        """Id of the node at a place of the index."""
        return self.node_ids[place]
