"""What is in each fold, as numbers: nodes, parameters, saved bytes, gradients, problems."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gradviz.model.columns import Columns
from gradviz.model.fold import Fold, FoldTotals, FoldTree
from gradviz.model.graph import Graph
from gradviz.model.records import Number, TensorInfo


def all_totals(tree: FoldTree) -> Iterator[tuple[Fold, FoldTotals]]:
    """The totals of all folds, a fold after those in it; the time grows with the graph."""
    facts = _Facts.of(tree.graph)
    known: dict[str, _Sums] = {}
    for fold in reversed(list(tree)):
        inner = [known.pop(one.id) for one in fold.folds]
        # the one with the most storages takes those of the others: each is moved few times
        sums = max(inner, key=lambda one: len(one.storages), default=_Sums())
        for one in inner:
            if one is not sums:
                sums.join(one)
        sums.add(fold.places, facts)
        known[fold.id] = sums
        yield fold, sums.totals()


@dataclass(frozen=True, slots=True)
class _Facts:
    """What totals are made of, by place."""

    columns: Columns
    leaves: Mapping[str, TensorInfo]
    grads: Mapping[int, Sequence[TensorInfo]]
    """Tensors that have a ``.grad``, by the place of the node whose output they are."""

    @classmethod
    def of(cls, graph: Graph) -> _Facts:
        grads: dict[int, list[TensorInfo]] = {}
        for info in graph.tensors:
            place = graph.place_of(info.node)
            if info.grad is not None and place is not None:
                grads.setdefault(place, []).append(info)
        return cls(graph.columns, {info.id: info for info in graph.tensors}, grads)


@dataclass(slots=True, eq=False)
class _Sums:
    """Totals while they grow."""

    nodes: int = 0
    leaves: int = 0
    parameters: int = 0
    hooks: int = 0
    grads: int = 0
    bad_grads: int = 0
    norm: float = 0.0
    unread: int = 0
    states: Counter[str] = field(default_factory=Counter)
    storages: dict[str, int] = field(default_factory=dict)
    """Bytes of each storage that a saved tensor keeps alive."""
    saved_bytes: int = 0

    def add(self, places: Iterable[int], facts: _Facts) -> None:
        """Count nodes."""
        hooks, saved, variable = facts.columns.hooks, facts.columns.saved, facts.columns.variable
        for place in places:
            self.nodes += 1
            self.hooks += len(hooks[place])
            for slot in saved[place]:
                self.states[slot.state] += 1
                if slot.storage is not None and slot.storage_nbytes is not None:
                    self._add_storage(slot.storage, slot.storage_nbytes)
            if (leaf := variable[place]) is not None:
                self.leaves += 1
                self.parameters += math.prod(facts.leaves[leaf].shape)
            for info in facts.grads.get(place, ()):
                self._add_grad(info)

    def join(self, other: _Sums) -> None:
        """Count what is counted in another one."""
        self.nodes += other.nodes
        self.leaves += other.leaves
        self.parameters += other.parameters
        self.hooks += other.hooks
        self.grads += other.grads
        self.bad_grads += other.bad_grads
        self.norm = math.hypot(self.norm, other.norm)
        self.unread += other.unread
        self.states.update(other.states)
        for storage, size in other.storages.items():
            self._add_storage(storage, size)

    def _add_storage(self, storage: str, size: int) -> None:
        if storage not in self.storages:
            self.storages[storage] = size
            self.saved_bytes += size

    def _add_grad(self, info: TensorInfo) -> None:
        assert info.grad is not None
        self.bad_grads += bool(info.grad.has_nan or info.grad.has_inf)
        if info.is_leaf:
            self.grads += 1
            if info.grad.norm is None:
                self.unread += 1
            else:
                self.norm = math.hypot(self.norm, float(info.grad.norm))

    def totals(self) -> FoldTotals:
        return FoldTotals(
            nodes=self.nodes,
            leaves=self.leaves,
            parameters=self.parameters,
            saved_bytes=self.saved_bytes,
            held=self.states["held"],
            modified=self.states["modified"],
            freed=self.states["freed"],
            packed=self.states["packed"],
            grads=self.grads,
            grad_norm=_number(self.norm) if self.grads and not self.unread else None,
            bad_grads=self.bad_grads,
            hooks=self.hooks,
        )


def _number(value: float) -> Number:
    return value if math.isfinite(value) else str(value)
