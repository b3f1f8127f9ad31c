"""What a graph keeps, counted apart from gradviz: by hooks that torch calls for every save.

A program is run a second time for it, since a hook changes what is saved. torch calls no hook for
numbers that it has wrapped (the 2 in ``x * 2``), so those are left out on both sides.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gradviz.model import Graph
from gradviz.model.memory import Memory

Sizes = dict[int, int]
"""Bytes by storage."""


class _Packed:
    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor.detach()  # an output must not keep its own node alive


@dataclass
class Saves:
    """Everything that is saved now; what a graph lets go leaves by itself."""

    alive: weakref.WeakSet[_Packed] = field(default_factory=weakref.WeakSet)

    def pack(self, tensor: Tensor) -> _Packed:
        packed = _Packed(tensor)
        self.alive.add(packed)
        return packed

    def hooks(self) -> Any:
        return torch.autograd.graph.saved_tensors_hooks(self.pack, lambda packed: packed.tensor)

    def storages(self) -> Sizes:
        found: Sizes = {}
        for packed in list(self.alive):
            try:
                storage = packed.tensor.untyped_storage()
            except (RuntimeError, NotImplementedError):  # sparse: not one storage
                continue
            found[storage._cdata] = storage.nbytes()
        return found

    def total(self) -> int:
        return sum(self.storages().values())


def counted(build: Callable[[], Any]) -> tuple[Any, Sizes]:
    """Run ``build``, and count what the graphs behind what it returns keep."""
    saves = Saves()
    with saves.hooks():
        outputs = build()
    gc.collect()
    return outputs, saves.storages()


def without_numbers(memory: Memory) -> list[int]:
    """Sizes of all storages but those of wrapped numbers, smallest first."""
    assert memory.graph is not None
    numbers = wrapped_numbers(memory.graph)
    return sorted(one.nbytes for one in memory.storages if one.id not in numbers)


def wrapped_numbers(graph: Graph) -> set[str]:
    return {
        slot.storage
        for node in graph.nodes
        for slot in node.saved
        if slot.storage is not None
        and slot.tensor is None
        and slot.shape == ()
        and slot.dtype in ("float64", "int64", "complex128")
    }
