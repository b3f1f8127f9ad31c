"""Which live tensors belong to a graph, where they sit in it, and their flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.values import few_values, summarise
from gradviz.model import Hook, TensorInfo


@dataclass(slots=True)
class Known:
    """A live tensor that may be shown."""

    tensor: torch.Tensor
    name: str | None
    is_asked_for: bool
    """Shown even if it has no place in the graph."""
    belongs: bool = False
    node: int | None = None
    """Place of its node."""
    output_nr: int = 0
    is_leaf: bool | None = None
    storage: int | None = None
    """Key of its storage, good while it lives."""
    id: str = ""
    hooks: tuple[Hook, ...] = field(default=())


class Storages:
    """Stable ids for storages, in the order in which they are met."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def id_of(self, key: int) -> str:
        """``"s0"``, ``"s1"``, …"""
        return f"s{self._numbers.setdefault(key, len(self._numbers))}"


class Tensors:
    """The live tensors of a graph: placed, chosen, numbered and described.

    Args:
        known: Candidates, in the order in which their names were found.
        index: Place of each node of the graph.
    """

    def __init__(self, known: list[Known], index: dict[Any, int]) -> None:
        self._known = known
        self._index = index
        self.storages = Storages()
        self.by_object: dict[int, Known] = {}
        self._outputs: dict[tuple[int, int], Known] = {}
        self._saved_storages: set[int] = set()
        for one in known:
            self._place(one)

    def _place(self, one: Known) -> None:
        tensor = one.tensor
        self.by_object[id(tensor)] = one
        storage = autograd.storage_of(tensor)
        one.storage = None if storage is None else storage[0]
        one.hooks = tuple(
            Hook(kind, autograd.describe_hook(hook))  # type: ignore[arg-type]
            for kind, hook in autograd.tensor_hooks(tensor)
        )
        if not tensor.requires_grad:
            one.is_leaf = True
            return
        if autograd.place_may_be_stale(tensor) and not one.is_asked_for:
            return
        try:
            node = tensor.grad_fn
        except RuntimeError:  # F1.14: a view that autograd can no longer follow
            return
        one.is_leaf = node is None
        one.output_nr = autograd.output_nr(tensor)
        if node is not None:
            one.node = self._index.get(node)
            if one.node is not None:
                one.belongs = True
                self._outputs.setdefault((one.node, one.output_nr), one)

    def leaf(self, tensor: torch.Tensor, node: int) -> Known:
        """The leaf of the AccumulateGrad at place ``node``; unnamed ones are added."""
        one = self.by_object.get(id(tensor))
        if one is None:
            one = Known(tensor, None, False)
            self._known.append(one)
            self._place(one)
        one.node, one.output_nr, one.is_leaf, one.belongs = node, 0, True, True
        return one

    def saved(self, tensor: torch.Tensor, node: int, storage: int | None) -> Known | None:
        """The known tensor that a node has saved: the object itself, or the node's own output.

        A saved own output comes back as a new object without a place (F3.09); it is known by
        the node, the storage and the shape.
        """
        if storage is not None:
            self._saved_storages.add(storage)
        one = self.by_object.get(id(tensor))
        if one is not None:
            one.belongs = True
            return one
        number = autograd.output_nr(tensor)
        one = self._outputs.get((node, number)) or self._outputs.get((node, 0))
        if (
            one is not None
            and storage is not None
            and one.storage == storage
            and autograd.shape_of(one.tensor) == autograd.shape_of(tensor)
        ):
            return one
        return None

    def choose(self) -> None:
        """Decide which tensors are shown, and number them.

        Shown are tensors with a place in the graph, saved ones, those asked for, and those that
        share storage with one of these. First come those with a place, in the order of nodes.
        """
        storages = self._saved_storages | {
            one.storage for one in self._known if one.belongs and one.storage is not None
        }
        shown = [
            one
            for one in self._known
            if one.belongs or one.is_asked_for or one.storage in storages
        ]
        at_the_end = len(self._index)
        shown.sort(key=lambda one: at_the_end if one.node is None else one.node)
        for number, one in enumerate(shown):
            one.id = f"t{number}"
        self._known = shown

    def infos(self) -> tuple[TensorInfo, ...]:
        """The chosen tensors as data."""
        return tuple(self._info(one) for one in self._known)

    def _info(self, one: Known) -> TensorInfo:
        tensor = one.tensor
        # F2.04: reading .grad of any other tensor would warn.
        has_grad = one.is_leaf is True or tensor.retains_grad
        grad = tensor.grad if has_grad else None
        return TensorInfo(
            id=one.id,
            name=one.name,
            shape=autograd.shape_of(tensor),
            dtype=autograd.dtype_of(tensor),
            device=autograd.device_of(tensor),
            requires_grad=tensor.requires_grad,
            is_leaf=one.is_leaf,
            retains_grad=tensor.retains_grad,
            version=autograd.version_of(tensor),
            grad=None if grad is None else summarise(grad),
            hooks=one.hooks,
            node=None if one.node is None else f"n{one.node}",
            output_nr=one.output_nr,
            storage=None if one.storage is None else self.storages.id_of(one.storage),
            is_view=autograd.is_view(tensor),
            is_inference=tensor.is_inference(),
            values=few_values(tensor),
        )

    def hooks_by_node(self, count: int) -> list[tuple[Hook, ...]]:
        """Per node, the hooks of the live tensors that are its outputs."""
        hooks: list[tuple[Hook, ...]] = [()] * count
        for one in self._known:
            if one.node is not None and one.hooks:
                hooks[one.node] += one.hooks
        return hooks
