"""What is in each fold at every step of a recording: totals that go from step to step."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from gradviz.analysis.fold.folding import SMALL
from gradviz.analysis.fold.opening import opened
from gradviz.analysis.fold.totals import all_totals
from gradviz.analysis.fold.tree import fold_tree
from gradviz.model.fold import FoldTotals, FoldTree
from gradviz.model.folding import FoldedSteps, Folding
from gradviz.model.recording import Recording, StepRecord
from gradviz.model.records import Node, TensorInfo

_NUMBERS: Final = (
    "nodes",
    "leaves",
    "parameters",
    "held",
    "modified",
    "freed",
    "packed",
    "grads",
    "bad_grads",
    "hooks",
    "unread",
)


def folded_steps(recording: Recording) -> FoldedSteps | None:
    """How the graph of all steps of a recording is shown folded; ``None`` if it is not, since no
    more than 40 of its nodes exist at any step: then all are drawn.

    Examples:
        >>> folded_steps(Recording([])) is None
        True
    """
    if _most_nodes(recording) <= SMALL:
        return None
    tree = fold_tree(recording.graph)
    totals = {one.id: found for one, found in all_totals(tree)}
    folding = Folding(tree, opened(tree), totals, is_automatic=True)
    return FoldedSteps(folding, tuple(StepTotals(tree).changes(recording)))


def _most_nodes(recording: Recording) -> int:
    """How many nodes exist at most at one step."""
    there, most = set[str](), 0
    for record in recording.records:
        for key, node in record.changes.nodes:
            (there.discard if node is None else there.add)(key)
        most = max(most, len(there))
    return most


@dataclass(slots=True)
class _Part:
    """What one node counts for, with its tensors."""

    numbers: Counter[str] = field(default_factory=Counter)
    storages: dict[str, int] = field(default_factory=dict)
    norm: float | None = None


@dataclass(slots=True)
class _Sums:
    """The totals of one fold now."""

    numbers: Counter[str] = field(default_factory=Counter)
    storages: dict[str, list[int]] = field(default_factory=dict)
    """Per storage, how many nodes keep it alive, and its bytes."""
    saved_bytes: int = 0
    norms: dict[str, float] = field(default_factory=dict)

    def change(self, key: str, old: _Part, new: _Part) -> None:
        """Count a node as it is now."""
        self.numbers.subtract(old.numbers)
        self.numbers.update(new.numbers)
        for storage in old.storages.keys() - new.storages.keys():
            known = self.storages[storage]
            known[0] -= 1
            if not known[0]:
                self.saved_bytes -= known[1]
                del self.storages[storage]
        for storage in new.storages.keys() - old.storages.keys():
            known = self.storages.setdefault(storage, [0, new.storages[storage]])
            known[0] += 1
            if known[0] == 1:
                self.saved_bytes += known[1]
        if old.norm != new.norm:
            self.norms.pop(key, None)
            if new.norm is not None:
                self.norms[key] = new.norm

    def totals(self) -> FoldTotals:
        numbers = {name: self.numbers[name] for name in _NUMBERS}
        norm = None
        if numbers["grads"] and not numbers.pop("unread"):
            norm = math.hypot(*self.norms.values())
        numbers.pop("unread", None)
        shown = norm if norm is None or math.isfinite(norm) else str(norm)
        return FoldTotals(**numbers, saved_bytes=self.saved_bytes, grad_norm=shown)


class StepTotals:
    """Goes from step to step and keeps the totals of all folds.

    A leaf counts while its tensor exists, also in no graph; everything else while its node does.

    Args:
        tree: The folded graph of all steps.
    """

    def __init__(self, tree: FoldTree) -> None:
        self._sums: dict[str, _Sums] = {fold.id: _Sums() for fold in tree}
        self._around: dict[str, tuple[str, ...]] = {}
        for fold in tree:
            above = (*(one.id for one in tree.around(fold.id)), fold.id)
            for place in fold.places:
                self._around[tree.graph.nodes[place].id] = above
        self._leaf_nodes: Mapping[str, str] = tree.graph.leaf_nodes
        self._nodes: dict[str, Node] = {}
        self._tensors: dict[str, dict[str, TensorInfo]] = {}
        """Tensors by the node whose outputs they are."""
        self._homes: dict[str, str] = {}
        self._parts: dict[str, _Part] = {}

    def changes(self, recording: Recording) -> Iterator[dict[str, FoldTotals]]:
        """Per step the totals that differ from those of the step before, by fold."""
        first = True
        for record in recording.records:
            folds = dict.fromkeys(self._sums) if first else {}
            for key in self._touched(record):
                old, new = self._parts.get(key, _Part()), self._part(key)
                if old == new:
                    continue
                self._parts[key] = new
                for fold_id in self._around.get(key, ()):
                    self._sums[fold_id].change(key, old, new)
                    folds[fold_id] = None
            first = False
            yield {fold_id: self._sums[fold_id].totals() for fold_id in folds}

    def _touched(self, record: StepRecord) -> dict[str, None]:
        """Take over the changes of a step; returns the nodes that may count for something else."""
        found: dict[str, None] = {}
        for key, node in record.changes.nodes:
            found[key] = None
            if node is None:
                self._nodes.pop(key, None)
            else:
                self._nodes[key] = node
        for key, info in record.changes.tensors:
            before = self._homes.pop(key, "")
            now = "" if info is None else self._leaf_nodes.get(key) or info.node or ""
            self._tensors.get(before, {}).pop(key, None)
            if info is not None and now:
                self._tensors.setdefault(now, {})[key] = info
                self._homes[key] = now
            found |= dict.fromkeys(one for one in (before, now) if one)
        return found

    def _part(self, key: str) -> _Part:
        part, node = _Part(), self._nodes.get(key)
        numbers, tensors = part.numbers, self._tensors.get(key, {})
        if node is not None:
            numbers["nodes"] = 1
            numbers["hooks"] = len(node.hooks)
            for slot in node.saved:
                numbers[slot.state] += 1
                if slot.storage is not None and slot.storage_nbytes is not None:
                    part.storages.setdefault(slot.storage, slot.storage_nbytes)
        for info in tensors.values():
            if self._leaf_nodes.get(info.id) == key:
                numbers["leaves"] += 1
                numbers["parameters"] += math.prod(info.shape)
            if info.grad is None:
                continue
            numbers["bad_grads"] += bool(info.grad.has_nan or info.grad.has_inf)
            if info.is_leaf:
                numbers["grads"] += 1
                if info.grad.norm is None:
                    numbers["unread"] += 1
                else:
                    part.norm = math.hypot(part.norm or 0.0, float(info.grad.norm))
        return part
