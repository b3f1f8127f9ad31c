"""A graph with lookups for comparing, and the pairs of two graphs."""

from __future__ import annotations

from collections import ChainMap, Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from gradviz.analysis.diff.matching.matching import match_nodes
from gradviz.model.graph import Graph
from gradviz.model.progress import counted
from gradviz.model.records import Node, SavedTensor, TensorInfo


class GraphLookup:
    """One of the two graphs.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: Mapping[str, Node] = _NodesById(graph)
        self.tensors: dict[str, TensorInfo] = {info.id: info for info in graph.tensors}
        self.leaf_node = graph.leaf_nodes
        """Node of each leaf of the graph."""
        self.on_node: dict[str, list[TensorInfo]] = defaultdict(list)
        """Known tensors by the node whose output they are."""
        for info in graph.tensors:
            if info.node is not None:
                self.on_node[info.node].append(info)
        self.roots: dict[str, list[int]] = defaultdict(list)
        for node_id, output_nr in graph.roots:
            self.roots[node_id].append(output_nr)
        self.names = {tensor_id: self.name(tensor_id) for tensor_id in self.tensors}
        """Name of each tensor, as :meth:`name` gives it."""

    sharing: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Nothing: who shares memory with whom is compared among what is in both graphs."""
    has_one_device = False
    """Devices are compared, so none goes without saying."""

    def tidy(self, text: str, /) -> str:
        """Text as it is; it is made fit to be shown where differences are."""
        return text

    def name(self, tensor_id: str | None) -> str:
        """The name of a tensor; without one whose output it is, or its id."""
        info = self.tensors.get(tensor_id or "")
        if info is None or info.name:
            return "" if info is None else info.name or ""
        if info.node is None or info.id in self.leaf_node:
            return info.id
        return f"output of {self.node_name(info.node)}"

    def node_at(self, node_id: str) -> Node | None:
        """A node by its id."""
        return self.nodes.get(node_id)

    def node_name(self, node_id: str) -> str:
        """torch's name of a node, of a leaf ``leaf w``."""
        place = self.graph.place_of(node_id)
        if place is None:
            raise KeyError(node_id)
        variable = self.graph.variables[place]
        is_known = variable in self.tensors
        return f"leaf {self.name(variable)}" if is_known else self.graph.names[place]

    def thing_name(self, key: str | None) -> str:
        """The name of a tensor or node, ``""`` if it is not known."""
        return self.node_name(key) if key is not None and key in self.nodes else self.name(key)

    def end(self, entry: tuple[str, int] | None) -> str:
        """An entry of ``next_functions`` in words."""
        if entry is None:
            return "None"
        return self.node_name(entry[0]) + (f" output {entry[1]}" if entry[1] else "")

    def slots(self, node: Node) -> dict[str, tuple[int, SavedTensor]]:
        """Slots that the graph needs, by name, with their places."""
        found = ((i, slot) for i, slot in enumerate(node.saved) if slot.state != "none")
        return {slot.name: (place, slot) for place, slot in found}

    def on_storages(self) -> list[list[tuple[str, str]]]:
        """Tensors ``("t0", "")`` and slots ``("n0", "self")`` on each storage that has several."""
        alone: dict[str, tuple[str, str]] = {}
        found: dict[str, list[tuple[str, str]]] = {}
        for storage, holder in self._holders():
            if storage in found:
                found[storage].append(holder)
            elif storage in alone:
                found[storage] = [alone.pop(storage), holder]
            else:
                alone[storage] = holder
        return list(found.values())

    def _holders(self) -> Iterator[tuple[str, tuple[str, str]]]:
        for info in self.tensors.values():
            if info.storage is not None:
                yield info.storage, (info.id, "")
        for place, slots in enumerate(self.graph.saved):
            for slot in slots:
                if slot.storage is not None:
                    yield slot.storage, (self.graph.id_at(place), slot.name)

    def holds(self, key: str, slot: str) -> bool:
        """Whether a tensor, or a slot of a node, has a storage that is known."""
        if not slot:
            return key in self.tensors and self.tensors[key].storage is not None
        place = self.graph.place_of(key)
        saved = () if place is None else self.graph.saved[place]
        return any(one.name == slot and one.storage is not None for one in saved)


class _NodesById(Mapping[str, Node]):
    """The nodes of a graph by their ids, each made when it is asked for."""

    __slots__ = ("_graph",)

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def get(self, key: str, default: Any = None) -> Any:
        """A node by its id."""
        place = self._graph.place_of(key)
        return default if place is None else self._graph.nodes[place]

    def __contains__(self, key: object) -> bool:
        return self._graph.place_of(key) is not None

    def __getitem__(self, key: str) -> Node:
        place = self._graph.place_of(key)
        if place is None:
            raise KeyError(key)
        return self._graph.nodes[place]

    def __iter__(self) -> Iterator[str]:
        return map(self._graph.id_at, range(len(self)))

    def __len__(self) -> int:
        return len(self._graph)


class NodePairs:
    """Two graphs, and which node and tensor of one is which of the other.

    Args:
        before: The graph before.
        after: The graph after.
    """

    def __init__(self, before: Graph, after: Graph) -> None:
        self.old, self.new = GraphLookup(before), GraphLookup(after)
        self.nodes = match_nodes(before, after)
        """Id before for the id after of each node that is in both."""
        self.tensors: dict[str, str] = {}
        """The same for tensors."""
        self._olds = self.nodes.turned
        self._kept = frozenset(self._kept_alike())
        self._match_tensors()
        olds_of_tensors = {old: new for new, old in self.tensors.items()}
        self.after: Mapping[str, str] = ChainMap(olds_of_tensors, cast("Any", self._olds))
        """Id after for the id before, nodes and tensors."""

    def _match_tensors(self) -> None:
        taken: set[str] = set()
        for new_id, old_id in self._candidates():
            if new_id not in self.tensors and old_id not in taken:
                self.tensors[new_id] = old_id
                taken.add(old_id)

    def _candidates(self) -> Iterator[tuple[str, str]]:
        """Tensors at the same place, then those whose name is the same and borne by no other, then
        those of the same name."""
        there = _by_place(self.old)
        for (node, output_nr), ids in _by_place(self.new).items():
            olds = there.get((self.nodes.get(node, ""), output_nr), [])
            yield from self._same_names(ids, olds)
            yield from zip(ids, olds)
        old_names, new_names = _by_name(self.old), _by_name(self.new)
        for name, ids in new_names.items():
            olds = old_names.get(name, [])
            if len(ids) == len(olds) == 1 and self._may_be(ids[0], olds[0]):
                yield ids[0], olds[0]
        for name, ids in new_names.items():
            found = zip(ids, old_names.get(name, ()))
            yield from (pair for pair in found if self._may_be(*pair))
        alike = dict.fromkeys(self._saved_alike())
        new_counts, old_counts = Counter(n for n, _ in alike), Counter(o for _, o in alike)
        yield from ((n, o) for n, o in alike if new_counts[n] == old_counts[o] == 1)

    def _same_names(self, ids: Sequence[str], olds: Sequence[str]) -> Iterator[tuple[str, str]]:
        names = {self.old.tensors[old].name: old for old in olds}
        for new in ids:
            if (name := self.new.tensors[new].name) and name in names:
                yield new, names[name]

    def _may_be(self, new_id: str, old_id: str) -> bool:
        """Whether two tensors of one name can be the same by their positions.

        What a node of both graphs made is in both: it is no tensor at another place.
        """
        new, old = self.new.tensors[new_id], self.old.tensors[old_id]
        is_made = new.node in self.nodes, old.node in self._olds
        if not any(is_made):
            return True
        is_outside = new.node is None or old.node is None
        return (new_id, old_id) in self._kept if is_outside else not all(is_made)

    def _kept_alike(self) -> Iterator[tuple[str, str]]:
        """Known tensors that the same slot keeps."""
        for new_id, old_id in counted(self.nodes.items(), "nodes matched", len(self.nodes)):
            old_slots = self.old.slots(self.old.nodes[old_id])
            for name, (_, slot) in self.new.slots(self.new.nodes[new_id]).items():
                was = old_slots.get(name)
                if was is not None and slot.tensor is not None and was[1].tensor is not None:
                    yield slot.tensor, was[1].tensor

    def _saved_alike(self) -> Iterator[tuple[str, str]]:
        """Tensors outside the graph that the same slot keeps, if they have no partner yet."""
        taken = set(self.tensors.values())
        for new_id, old_id in sorted(self._kept):
            new, old = self.new.tensors[new_id], self.old.tensors[old_id]
            is_open = new_id not in self.tensors and old_id not in taken
            if is_open and new.node is None and old.node is None and new.shape == old.shape:
                yield new_id, old_id


def _by_name(reading: GraphLookup) -> dict[str, list[str]]:
    """Tensors by their name."""
    found: dict[str, list[str]] = defaultdict(list)
    for info in reading.tensors.values():
        if info.name:
            found[info.name].append(info.id)
    return found


def _by_place(reading: GraphLookup) -> dict[tuple[str, int], list[str]]:
    """Leaves of the graph and tensors that are outputs, by node and output."""
    found = {(node, -1): [tensor] for tensor, node in reading.leaf_node.items()}
    for info in reading.tensors.values():
        if info.node is not None and info.id not in reading.leaf_node:
            found.setdefault((info.node, info.output_nr), []).append(info.id)
    return found
