"""Follows nodes, tensors and memory without keeping them alive."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from gradviz.capture.autograd.tensors import own_part, storage_of

MARK: Final = "gradviz_recording"

sequence_number: Callable[[], int] = torch._C._autograd._get_sequence_nr
"""Number that the next node made in this thread will have (F6.03)."""


class NodeTag:
    """Kept in a node's dictionary: has the node's number, reports when it is freed (F1.04).

    Who reads a graph while a recording runs covers the tags of that, and gives them back.
    """

    __slots__ = ("__weakref__", "covers", "number", "owner")

    def __init__(self, owner: object, number: int, covers: NodeTag | None) -> None:
        self.owner = owner
        self.number = number
        self.covers = covers


class NumberedRef(weakref.ref[Any]):
    """A weak reference with the number of what it refers to, which may be gone.

    Its callback is to be a method of a list or a set: one written in Python would run in the
    middle of the user's code, where a Ctrl-C that it receives would be lost, and where the
    compiler would follow it.
    """

    __slots__ = ("number",)

    number: int


def tag_of(node: Any, owner: object) -> int | None:
    """Number that ``owner`` has given to a node, ``None`` if none."""
    tag = node.metadata.get(MARK)
    return tag.number if type(tag) is NodeTag and tag.owner is owner else None


def tag(
    node: Any,
    owner: object,
    number: int,
    tags: list[NumberedRef],
    died: Callable[[NumberedRef], object],
) -> None:
    """Give a node a number. Changes ``node.metadata``, torch's place for such things.

    Args:
        node: Any node.
        owner: Who gives the number.
        number: The number.
        tags: Where a reference to the tag is kept, from before the node has it.
        died: Is called with this reference when the node is gone; see :class:`NumberedRef`.
    """
    covers = node.metadata.get(MARK)
    made = NodeTag(owner, number, covers if type(covers) is NodeTag else None)
    reference = NumberedRef(made, died)
    reference.number = number
    tags.append(reference)
    node.metadata[MARK] = made


def untag(node: Any, owner: object) -> None:
    """Take the number away again."""
    if tag_of(node, owner) is not None:
        _uncover(node.metadata)


def untag_lost(references: Iterable[NumberedRef]) -> None:
    """Remove the numbers of nodes that no known tensor leads to any more.

    Such nodes cannot be referred to weakly, so their dictionaries are found by the collector,
    which visits every object once.
    """
    marks = [tag for reference in references if (tag := reference()) is not None]
    lost = set(map(id, marks))
    for holder in gc.get_referrers(*marks) if marks else ():
        if type(holder) is dict and id(holder.get(MARK)) in lost:
            _uncover(holder)


def _uncover(holder: dict[str, Any]) -> None:
    """Take a tag away; what it covers comes back."""
    covers = holder[MARK].covers
    if covers is None:
        del holder[MARK]
    else:
        holder[MARK] = covers


class _HeldRef(NumberedRef):
    """The weak reference that a :class:`TensorRef` holds, from which that is found."""

    __slots__ = ("holder",)

    holder: weakref.ref[TensorRef]


class TensorRef:
    """A weak reference to a tensor."""

    __slots__ = ("__weakref__", "_ref")

    def __init__(
        self,
        tensor: torch.Tensor,
        number: int = -1,
        died: Callable[[NumberedRef], object] | None = None,
    ) -> None:
        self._ref: Callable[[], Any]
        self._refer(number, died, tensor)

    def _refer(
        self, number: int, died: Callable[[NumberedRef], object] | None, tensor: torch.Tensor
    ) -> None:
        self._ref = made = _HeldRef(tensor, died)
        made.number, made.holder = number, weakref.ref(self)

    def __call__(self) -> torch.Tensor | None:
        """The tensor, ``None`` once it is dead."""
        tensor = self._ref()
        if tensor is not None:
            # The object may be one that torch has kept for a tensor which C++ owns.
            tensor._fix_weakref()
        found: torch.Tensor | None = tensor
        return found

    @staticmethod
    def let_go(tensor: torch.Tensor) -> list[Callable[[torch.Tensor], None]]:
        """Take away all weak references of this kind to a tensor, which is kept alive meanwhile.

        torch swaps the contents of tensors only if there are none (F2.19). Until they are made anew
        they give ``None``.

        Returns:
            Functions that make them anew, to be called with the same tensor.
        """
        again: list[Callable[[torch.Tensor], None]] = []
        for found in weakref.getweakrefs(tensor):
            holder = found.holder() if type(found) is _HeldRef else None
            if holder is not None:
                again.append(partial(holder._refer, found.number, found.__callback__))
                holder._ref = _no_tensor
        return again


def _no_tensor() -> None:
    """What a reference gives that was let go."""


class StorageRef:
    """A weak reference to a storage (F4.06); while it exists, no other storage gets the key."""

    __slots__ = ("_ref", "nbytes")

    def __init__(self, tensor: torch.Tensor) -> None:
        storage = own_part(tensor).untyped_storage()
        self.nbytes: int = (storage_of(tensor) or (0, 0))[1]
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
