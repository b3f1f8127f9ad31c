"""Follows nodes, tensors and memory without keeping them alive."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Final

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from gradviz.capture.autograd.code_objects import do_nothing, never_compiled

MARK: Final = "gradviz_recording"

sequence_number: Callable[[], int] = torch._C._autograd._get_sequence_nr
"""Number that the next node made in this thread will have (F6.03)."""


class NodeTag:
    """Kept in a node's dictionary: has the node's number, reports when it is freed (F1.04)."""

    __slots__ = ("__weakref__", "died", "number", "owner")

    def __init__(self, owner: object, number: int, died: Callable[[int], None]) -> None:
        self.owner = owner
        self.number = number
        self.died = died

    @never_compiled
    def __del__(self) -> None:
        self.died(self.number)


def tag_of(node: Any, owner: object) -> int | None:
    """Number that ``owner`` has given to a node, ``None`` if none."""
    tag = node.metadata.get(MARK)
    return tag.number if type(tag) is NodeTag and tag.owner is owner else None


def tag(node: Any, owner: object, number: int, died: Callable[[int], None]) -> weakref.ref[NodeTag]:
    """Give a node a number. Changes ``node.metadata``, torch's place for such things."""
    made = node.metadata[MARK] = NodeTag(owner, number, died)
    return weakref.ref(made)


def untag(node: Any, owner: object) -> None:
    """Take the number away again."""
    if tag_of(node, owner) is not None:
        node.metadata.pop(MARK).died = do_nothing


def untag_lost(references: Iterable[weakref.ref[NodeTag]]) -> None:
    """Remove the numbers of nodes that no known tensor leads to any more.

    Such nodes cannot be referred to weakly, so their dictionaries are found by the collector,
    which visits every object once.
    """
    marks = [tag for reference in references if (tag := reference()) is not None]
    lost = set(map(id, marks))
    for holder in gc.get_referrers(*marks) if marks else ():
        if type(holder) is dict and id(holder.get(MARK)) in lost:
            holder.pop(MARK).died = do_nothing


class TensorRef:
    """A weak reference to a tensor."""

    __slots__ = ("_ref",)

    def __init__(self, tensor: torch.Tensor, on_death: Callable[[Any], None] | None = None) -> None:
        self._ref = weakref.ref(tensor, on_death)

    def __call__(self) -> torch.Tensor | None:
        """The tensor, ``None`` once it is dead."""
        tensor = self._ref()
        if tensor is not None:
            # The object may be one that torch has kept for a tensor which C++ owns.
            tensor._fix_weakref()  # type: ignore[attr-defined]
        return tensor


class StorageRef:
    """A weak reference to a storage (F4.06); while it exists, no other storage gets the key."""

    __slots__ = ("_ref", "nbytes")

    def __init__(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        self.nbytes: int = storage.nbytes()
        self._ref = StorageWeakRef(storage)

    @property
    def is_gone(self) -> bool:
        """Whether the memory has been given back."""
        return bool(self._ref.expired())


def current_node() -> Any:
    """The node that the engine runs in this thread now, ``None`` outside backward (F5.01)."""
    return torch._C._current_autograd_node()


def backward_is_running() -> bool:
    """Whether this thread is inside a backward (F5.01)."""
    return bool(torch._C._current_graph_task_id() != -1)
