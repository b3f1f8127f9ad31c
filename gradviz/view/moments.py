"""The look-ups of a :class:`Context`, kept up to date from step to step of a recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from gradviz.model.facts import Node, TensorInfo
from gradviz.model.recording import Changes, Recording, Step
from gradviz.view import phrases
from gradviz.view.context import Context

LIMIT: Final = 400
"""How many nodes of a recording are drawn and described."""
Row = TypeVar("Row")


class Moment(Context):
    """What :class:`Context` tells, of one step after the other.

    A leaf has the place of its ``AccumulateGrad`` at all steps, also while there is none.

    Args:
        recording: Whose steps they are; before :meth:`advance` nothing exists.
    """

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording.graph, LIMIT)
        self.leaf_node = {n.variable: n.id for n in self.nodes if n.variable is not None}
        """The ``AccumulateGrad`` of each leaf that ever has one."""
        self._variables = {node: variable for variable, node in self.leaf_node.items()}
        self._device = recording.device
        self.rows: dict[str, Node] = {}
        """Nodes that exist."""
        self.tensors = {}
        self.names = {}
        self.roots = {}
        self.tags = {}
        self.saved_by = {}
        self.sharing = {}
        self.consumers = {}
        self._counted = Counter[str]()
        self.counts = self._counted
        self.saved_bytes = 0
        self._sources: dict[str, set[str]] = {}
        self._savers: dict[str, dict[str, tuple[str, ...]]] = {}
        self._made: dict[str, set[str]] = {}
        self._storages: dict[str, set[str]] = {}

    def advance(self, step: Step) -> set[str]:
        """Go on to a step; returns ids of all whose description may be another one now."""
        vars(self).pop("subject", None)  # found once per graph; here the graph changes
        self._node_facts.clear()
        self._tensor_facts.clear()
        changes = step.facts.changes
        touched: set[str] = set()
        for key, node in changes.nodes:
            touched |= self._put_node(key, node)
        for key, info in changes.tensors:
            touched |= self._put_tensor(key, info)
        touched |= self._put_roots(changes)
        self.saved_bytes = step.saved_bytes
        return touched

    def is_outside(self, tensor_id: str) -> bool:
        """Whether it has a card of its own: no node made it, and it is no leaf of a graph."""
        return super().is_outside(tensor_id) and tensor_id not in self.leaf_node

    def waiting(self, node_id: str) -> TensorInfo | None:
        """The leaf of an ``AccumulateGrad`` that does not exist now."""
        info = self.tensors.get(self._variables.get(node_id, ""))
        return info if node_id not in self.rows and info and info.node is None else None

    def _put_roots(self, changes: Changes) -> set[str]:
        if changes.roots is None:
            return set()
        before, self.roots = self.roots, {}
        for node_id, output_nr in changes.roots:
            self.roots.setdefault(node_id, []).append(output_nr)
        self._counted["roots"] = len(changes.roots)
        return {key for key in (*before, *self.roots) if before.get(key) != self.roots.get(key)}

    def _put_node(self, key: str, node: Node | None) -> set[str]:
        old, touched = self.rows.get(key), {key}
        self._counted.subtract(_count(old))
        self._counted.update(_count(node))
        if node is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = node
        targets = _targets(node)
        for target in targets | _targets(old):
            _put(self._sources, target, key, target in targets)
            self._list(self.consumers, target, _by_number(self._sources.get(target, ())))
        slots = _slots(node)
        for tensor in {*slots, *_slots(old)}:
            savers = self._savers.setdefault(tensor, {})
            savers.pop(key, None)
            if tensor in slots:
                savers[key] = slots[tensor]
            pairs = ((saver, n) for saver in _by_number(savers) for n in savers[saver])
            self._list(self.saved_by, tensor, tuple(pairs))
            touched.add(tensor)
        return touched | targets | _targets(old)

    def _put_tensor(self, key: str, info: TensorInfo | None) -> set[str]:
        old = self.tensors.get(key)
        name = None if info is None else phrases.tensor_name(info)
        renamed = self.names.get(key) != name
        if info is None or name is None:
            self.tensors.pop(key, None)
            self.names.pop(key, None)
        else:
            self.tensors[key], self.names[key] = info, name
        touched = {key}
        for row in (old, info):
            if row is not None and row.node is not None:
                touched.add(row.node)
                _put(self._made, row.node, key, info is not None and info.node == row.node)
                self._list_tags(row.node)
        leaf = self.leaf_node.get(key)
        touched |= {leaf} if leaf else set()
        if renamed:
            touched |= {saver for saver, _ in self.saved_by.get(key, ())}
            touched |= set(self.consumers.get(leaf or "", ()))
        if renamed or (old and old.storage) != (info and info.storage):
            for row in (old, info):
                if row is not None and row.storage is not None:
                    touched |= self._share(row.storage, key, info)
        return touched

    def _list_tags(self, node_id: str) -> None:
        made = (self.tensors[key] for key in _by_number(self._made.get(node_id, ())))
        tags = (info for info in made if self.leaf_node.get(info.id) != node_id)
        self._list(self.tags, node_id, tuple(sorted(tags, key=lambda info: info.output_nr)))

    def _share(self, storage: str, key: str, info: TensorInfo | None) -> set[str]:
        """Put a tensor on a storage, or take it away; returns ids of all that share it."""
        _put(self._storages, storage, key, info is not None and info.storage == storage)
        self.sharing.pop(key, None) if info is None or info.storage is None else None
        group = _by_number(self._storages.get(storage, ()))
        touched = {key}
        for one in group:
            others = tuple(self.names[other] for other in group if other != one)
            self._list(self.sharing, one, others)
            touched |= {one, self.tensors[one].node or "", self.leaf_node.get(one, "")}
        return touched

    @staticmethod
    def _list(index: dict[str, tuple[Row, ...]], key: str, rows: tuple[Row, ...]) -> None:
        if rows:
            index[key] = rows
        else:
            index.pop(key, None)


def moments(recording: Recording) -> Iterator[tuple[Step, Moment, set[str]]]:
    """Each step with the one :class:`Moment`, and the ids that :meth:`Moment.advance` gives."""
    moment = Moment(recording)
    for step in recording.steps:
        yield step, moment, moment.advance(step)


def number_of(key: str) -> int:
    """The number in an id."""
    return int(key[1:])


def _by_number(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(keys, key=number_of))


def _put(index: dict[str, set[str]], key: str, member: str, there: bool) -> None:
    if there:
        index.setdefault(key, set()).add(member)
    elif key in index:
        index[key].discard(member)


def _targets(node: Node | None) -> set[str]:
    return set() if node is None else {entry[0] for entry in node.next_functions if entry}


def _slots(node: Node | None) -> dict[str, tuple[str, ...]]:
    """Names of the slots in which each known tensor is saved."""
    found: dict[str, tuple[str, ...]] = {}
    for slot in node.saved if node else ():
        known = slot.tensor or slot.view_of
        if known is not None:
            found[known] = (*found.get(known, ()), slot.name)
    return found


def _count(node: Node | None) -> Counter[str]:
    if node is None:
        return Counter()
    found = Counter({"nodes": 1, "edges": sum(e is not None for e in node.next_functions)})
    found["leaves"] = int(node.variable is not None)
    found[f"nodes {node.state}"] += 1
    found.update(f"saved {slot.state}" for slot in node.saved)
    return found
