"""A :class:`GraphIndex` that goes from step to step of a recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from gradviz.model.facts import tensor_facts
from gradviz.model.recording import Recording, Step
from gradviz.model.records import Node, TensorInfo
from gradviz.view.graph_index import LISTED, GraphIndex, places_of, slots_of, targets_of

LIMIT: Final = 400
"""How many nodes of a recording are drawn."""


class StepIndex(GraphIndex):
    """A :class:`GraphIndex` of one step after the other.

    A leaf has the place of its ``AccumulateGrad`` at all steps, even while that does not exist.

    Args:
        recording: Whose steps they are; before :meth:`advance` nothing exists.
        focus: The node around which a large graph is drawn; if not given its first nodes are.
        limit: How many nodes are drawn.
    """

    def __init__(self, recording: Recording, focus: str = "", limit: int = LIMIT) -> None:
        super().__init__(recording.graph, limit, recording.device, focus)
        nodes = self.graph.nodes
        self._listed = {nodes[place].id for place in places_of(self.graph, LISTED, focus)}
        self._variables = {node: variable for variable, node in self.leaf_node.items()}
        self._counts = Counter[str]()
        self._hidden_uses_now = Counter[tuple[str, int]]()
        self.hidden_now = 0
        """How many nodes exist that are not drawn."""
        self._saved_bytes = 0
        self._recording = recording

    def advance(self, step: Step) -> set[str]:
        """Go on to a step; returns the ids whose description may have changed."""
        self.forget()
        changes = step.record.changes
        touched: set[str] = set()
        for key, node in changes.nodes:
            touched |= self._node_changes(key, node)
        for key, info in changes.tensors:
            touched |= self._tensor_changes(key, info)
        if changes.roots is not None:
            touched |= self._roots_change(changes.roots)
        self._saved_bytes = step.saved_bytes
        touched |= self._compare(step.index)
        return touched

    def _compare(self, place: int) -> set[str]:
        """Compare each tensor with what it was before the step and what is inside it.

        Returns:
            Ids whose description changes with it, also of what was compared at the step before.
        """
        history, start = self._recording.history, self._recording.numbers.starts[place]
        changed = {key for at in range(max(1, start), place + 1) for key in history.changed(at)}
        rows = {key: history.tensor_at(key, start - 1) for key in changed if key in self.tensors}
        old = self.before.keys()
        self.before = {
            key: tensor_facts(row, self)
            for key, row in rows.items()
            if row is not None and _differs(row, self.tensors[key])
        }
        found = {*old, *self.before}
        for info in filter(None, map(self.tensors.get, tuple(found))):
            found |= {self.leaf_node.get(info.id, info.id), info.node or info.id}
        return found

    @property
    def counts(self) -> Mapping[str, int]:
        """The counts at this step."""
        return self._counts

    @property
    def saved_bytes(self) -> int:
        """Bytes that saved tensors keep at this step."""
        return self._saved_bytes

    def is_outside(self, tensor_id: str) -> bool:
        """Whether it has a card of its own: no node made it, and it is no leaf of a graph."""
        return super().is_outside(tensor_id) and tensor_id not in self.leaf_node

    @property
    def hidden_uses_now(self) -> tuple[int, ...]:
        """Those of :attr:`hidden_uses` at this step, in the same order."""
        return tuple(map(self._hidden_uses_now.__getitem__, self.hidden_uses))

    def is_listed(self, node_id: str) -> bool:
        """Whether a node is among those that the browser can find and list."""
        return node_id in self._listed

    def waiting(self, node_id: str) -> TensorInfo | None:
        """The leaf of an ``AccumulateGrad`` that does not exist now."""
        info = self.tensors.get(self._variables.get(node_id, ""))
        return info if node_id not in self.rows and info and info.node is None else None

    def _roots_change(self, roots: tuple[tuple[str, int], ...]) -> set[str]:
        before = self.roots
        self._put_roots(roots)
        self._counts["roots"] = len(roots)
        return {key for key in (*before, *self.roots) if before.get(key) != self.roots.get(key)}

    def _node_changes(self, key: str, node: Node | None) -> set[str]:
        old = self._put_node(key, node)
        self._counts.subtract(_count(old))
        self._counts.update(_count(node))
        if not self.is_drawn(key):
            self.hidden_now += (node is not None) - (old is not None)
            self._hidden_uses_now.subtract(_entries(old))
            self._hidden_uses_now.update(_entries(node))
        ends = targets_of(node) | targets_of(old)
        return {key, *ends, *slots_of(node), *slots_of(old)}

    def _tensor_changes(self, key: str, info: TensorInfo | None) -> set[str]:
        name = self.names.get(key)
        storages = {row.storage for row in (self.tensors.get(key), info) if row is not None}
        sharing = {storage: self.named_on(storage) for storage in storages if storage is not None}
        old = self._put_tensor(key, info)
        renamed = self.names.get(key) != name
        leaf = self.leaf_node.get(key)
        touched = {key, leaf or key}
        touched |= {row.node for row in (old, info) if row is not None and row.node is not None}
        if renamed:
            touched |= {saver for saver, _ in self.saved_by.get(key, ())}
            touched |= set(self.consumers.get(leaf or "", ()))
        for storage, named in sharing.items():
            if named != self.named_on(storage):
                touched |= self._all_on(storage)
        return touched

    def _all_on(self, storage: str) -> set[str]:
        """Tensors on a storage, and the nodes whose cards show them."""
        touched: set[str] = set()
        for one in self._storages.get(storage, ()):
            touched |= {one, self.tensors[one].node or "", self.leaf_node.get(one, "")}
        return touched


def step_indexes(
    recording: Recording, focus: str = "", limit: int = LIMIT
) -> Iterator[tuple[Step, StepIndex, set[str]]]:
    """Each step with its index, and the ids that :meth:`StepIndex.advance` gives."""
    step_index = StepIndex(recording, focus, limit)
    for step in recording.all_steps:
        yield step, step_index, step_index.advance(step)


def _differs(was: TensorInfo, info: TensorInfo) -> bool:
    """Whether something of a tensor changed that is shown with what it was."""
    return (was.version, was.grad, was.values) != (info.version, info.grad, info.values)


def _entries(node: Node | None) -> list[tuple[str, int]]:
    return [] if node is None else [entry for entry in node.next_functions if entry is not None]


def _count(node: Node | None) -> Counter[str]:
    if node is None:
        return Counter()
    found = Counter({"nodes": 1, "edges": sum(e is not None for e in node.next_functions)})
    found["leaves"] = int(node.variable is not None)
    found[f"nodes {node.state}"] += 1
    found.update(f"saved {slot.state}" for slot in node.saved)
    found.update("saved without size" for slot in node.saved if slot.is_without_size)
    return found
