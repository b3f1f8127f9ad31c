"""Which live tensors belong to a graph, at which node, and their flags."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.statistics import Statistics
from gradviz.capture.values import NO_VALUES, Budget, FewValues, few_values, summarise_within
from gradviz.model import Hook, TensorInfo, ValueSummary


@dataclass(slots=True)
class Known:
    """A live tensor that may be shown."""

    tensor: torch.Tensor
    name: str | None
    is_asked_for: bool
    """Shown even if it has no place in the graph."""
    aliases: Collection[str] = ()
    """Its other names."""
    grad: torch.Tensor | None = None
    """Its ``.grad`` object, read while no backward could replace it."""
    grad_summary: ValueSummary | None = None
    grad_statistics: Statistics | None = None
    """What the summary is made from."""
    is_root: bool = False
    """Its place has been read already, so reading it again changes nothing."""
    belongs: bool = False
    node: int | None = None
    """Place of its node."""
    output_nr: int = 0
    is_leaf: bool | None = None
    storage: int | None = None
    """Key of its storage, valid while the storage exists."""
    id: str = ""
    hooks: tuple[Hook, ...] = field(default=())


class Storages:
    """Stable ids for storages, in the order in which they are met."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def number_of(self, key: int, tensor: torch.Tensor) -> int:
        """Number of a storage: 0 for the first that is met; its id is then ``"s0"``.

        Args:
            key: Key of the storage, valid while the storage exists.
            tensor: A tensor on it.
        """
        return self._numbers.setdefault(key, len(self._numbers))


class Tensors:
    """The live tensors of a graph: placed, chosen, numbered and described.

    Args:
        known: Candidates, in the order in which their names were found.
        index: Place of each node of the graph.
        values: Whether numbers are read, ``None`` for a budget; on a GPU that waits for it.
        storages: Gives storages their numbers.
        zeros: Whether the zeros of gradients are counted.
    """

    def __init__(
        self,
        known: list[Known],
        index: dict[Any, int],
        values: bool | None = True,
        storages: Storages | None = None,
        zeros: bool = False,
    ) -> None:
        self._candidates = known
        self._zeros = zeros
        self._budget = Budget(values)
        self.shown: list[Known] = []
        self._index = index
        self.storages = storages or Storages()
        self._place_of: dict[int, int] = {}
        self._by_storage: dict[int | None, list[int]] = {}
        for at, one in enumerate(known):
            try:
                self._place(one, at)
            except Exception:
                # A subclass with attributes of its own lies in scope. Only what was asked for
                # may decide whether a snapshot succeeds.
                if one.is_asked_for:
                    raise

    def _place(self, one: Known, at: int) -> None:
        tensor = one.tensor
        self._place_of[id(tensor)] = at
        storage = autograd.storage_of(tensor)
        one.storage = None if storage is None else storage[0]
        one.hooks = tuple(
            Hook(kind, autograd.describe_hook(hook))  # type: ignore[arg-type]
            for kind, hook in autograd.tensor_hooks(tensor)
        )
        if not tensor.requires_grad:
            one.is_leaf = True
            return
        if autograd.place_may_be_stale(tensor) and not one.is_root:
            one.is_leaf = autograd.is_leaf_unasked(tensor)
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
                if one.storage is not None:
                    self._by_storage.setdefault(one.storage, []).append(at)

    def _add(self, one: Known) -> int:
        at = len(self._candidates)
        self._candidates.append(one)
        self._place(one, at)
        return at

    def _find(self, tensor: torch.Tensor) -> int | None:
        """Place of a tensor among the candidates."""
        return self._place_of.get(id(tensor))

    def _outputs_on(self, storage: int | None) -> Sequence[int]:
        """Places of the candidates in a storage that are outputs of nodes."""
        return self._by_storage.get(storage, ())

    def leaf(self, tensor: torch.Tensor, node: int) -> Known:
        """The leaf of the AccumulateGrad at place ``node``; unnamed ones are added."""
        at = self._find(tensor)
        if at is None:
            at = self._add(Known(tensor, None, False))
        one = self._candidates[at]
        one.node, one.output_nr, one.is_leaf, one.belongs = node, 0, True, True
        return one

    def saved(
        self,
        tensor: torch.Tensor,
        base: torch.Tensor | None,
        storage: int | None,
        node: int,
        slot: str,
    ) -> tuple[int | None, int | None]:
        """Places among the candidates of a tensor that a node has saved, and of its base.

        It is the object itself, or an output of the node's own. That comes back as a new object
        without a place (F3.09). It is known by its memory: a tensor with the same layout in the
        same storage that is an output of this node still, or, since an operation in place gives
        a tensor another node, of any node where the slot is one for results. An alias that was
        cut off, such as ``y.detach()``, looks the same in other slots, and is not named.
        """
        at = self._find(tensor)
        if at is not None:
            self._candidates[at].belongs = True
            return at, None
        if base is not None and (at := self._find(base)) is not None:
            self._candidates[at].belongs = True
            return None, at
        for at in self._outputs_on(storage):
            one = self._candidates[at]
            if (
                (one.node == node or slot.startswith("result"))
                and not autograd.is_view(one.tensor)
                and autograd.same_layout(one.tensor, tensor)
            ):
                return at, None
        return None, None

    def read_grads(self) -> None:
        """Take hold of all ``.grad``; to be called while no other thread runs backward."""
        with_grad = [
            one
            for one in self._candidates
            # F2.04: reading .grad of any other tensor would warn.
            if (one.belongs or one.is_asked_for) and (one.is_leaf or one.tensor.retains_grad)
        ]
        for one, grad in zip(with_grad, autograd.grads_of([one.tensor for one in with_grad])):
            one.grad = grad

    def choose(self) -> None:
        """Decide which tensors are shown, and number them.

        Shown are tensors with a place in the graph, saved ones, and those asked for. First come
        those with a place, in the order of nodes.
        """
        shown = [one for one in self._candidates if one.belongs or one.is_asked_for]
        at_the_end = len(self._index)
        shown.sort(key=lambda one: at_the_end if one.node is None else one.node)
        for number, one in enumerate(shown):
            one.id = f"t{number}"
        self.shown = shown

    def ids(self) -> tuple[str, ...]:
        """Id of every candidate, empty for those not shown."""
        return tuple([one.id for one in self._candidates])

    def read(
        self, others: Sequence[torch.Tensor]
    ) -> tuple[tuple[TensorInfo, ...], list[FewValues]]:
        """The chosen tensors as data, and the values of other tensors, where values are read."""
        if self._budget.is_none:
            return tuple(map(self._info, self.shown)), [NO_VALUES] * len(others)
        with autograd.arithmetic():  # once for all: it costs as much as a tensor
            infos = tuple([self._info(one) for one in self.shown])
            return infos, [few_values(tensor, self._budget) for tensor in others]

    def _info(self, one: Known) -> TensorInfo:
        tensor = one.tensor
        few = few_values(tensor, self._budget)
        if one.grad is not None:
            read = summarise_within(one.grad, self._budget, self._zeros)
            one.grad_summary, one.grad_statistics = read
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
            grad=one.grad_summary,
            hooks=one.hooks,
            node=None if one.node is None else self.node_id(one.node),
            output_nr=one.output_nr,
            storage=(
                None if one.storage is None else f"s{self.storages.number_of(one.storage, tensor)}"
            ),
            is_view=autograd.is_view(tensor),
            is_inference=tensor.is_inference(),
            values=few.values,
            is_unread=few.is_unread,
            aliases=tuple(one.aliases),
        )

    def node_id(self, place: int) -> str:
        """Id of the node at a place."""
        return f"n{place}"

    def hooks_by_node(self, count: int) -> list[tuple[Hook, ...]]:
        """Per node, the hooks of the live tensors that are its outputs."""
        hooks: list[tuple[Hook, ...]] = [()] * count
        for one in self.shown:
            if one.node is not None and one.hooks and one.node < count:
                hooks[one.node] += one.hooks
        return hooks


def flags_of(tensors: Sequence[torch.Tensor]) -> tuple[TensorInfo, ...]:
    """Flags, version, hooks and storage of tensors; no graph, ``.grad`` or number is read.

    Args:
        tensors: Tensors of which none has been freed; in the same order as the result.
    """
    with autograd.unseen():
        read = Tensors([Known(tensor, None, True) for tensor in tensors], {}, values=False)
        read.choose()
        return read.read(())[0]
