"""A graph with what comparing looks up in it, and the pairs of two graphs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from gradviz.analysis.matching import match_nodes
from gradviz.model.facts import Node, SavedTensor, TensorInfo
from gradviz.model.graph import Graph


class Reading:
    """One of the two graphs.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: dict[str, Node] = {node.id: node for node in graph.nodes}
        self.tensors: dict[str, TensorInfo] = {info.id: info for info in graph.tensors}
        self.leaf_node = {node.variable: node.id for node in self.nodes.values() if node.variable}
        """Node of each leaf of the graph."""
        self.on_node: dict[str, list[TensorInfo]] = defaultdict(list)
        """Known tensors by the node whose output they are."""
        for info in graph.tensors:
            if info.node is not None:
                self.on_node[info.node].append(info)
        self.roots: dict[str, list[int]] = defaultdict(list)
        for node_id, output_nr in graph.roots:
            self.roots[node_id].append(output_nr)

    def name(self, tensor_id: str | None) -> str:
        """The name of a tensor; without one whose output it is, or its id."""
        info = self.tensors.get(tensor_id or "")
        if info is None or info.name:
            return "" if info is None else info.name or ""
        if info.node is None or info.id in self.leaf_node:
            return info.id
        return f"output of {self.nodes[info.node].name}"

    def node_name(self, node_id: str) -> str:
        """torch's name of a node, of a leaf ``leaf w``."""
        node = self.nodes[node_id]
        return f"leaf {self.name(node.variable)}" if node.variable in self.tensors else node.name

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

    def on_storage(self) -> dict[str, list[tuple[str, str]]]:
        """What lies on each storage: tensors ``("t0", "")`` and slots ``("n0", "self")``."""
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for info in self.tensors.values():
            if info.storage is not None:
                found[info.storage].append((info.id, ""))
        for node in self.nodes.values():
            for slot in node.saved:
                if slot.storage is not None:
                    found[slot.storage].append((node.id, slot.name))
        return found


class Pairs:
    """Two graphs, and which node and tensor of one is which of the other.

    Args:
        before: The graph before.
        after: The graph after.
    """

    def __init__(self, before: Graph, after: Graph) -> None:
        self.old, self.new = Reading(before), Reading(after)
        self.nodes: dict[str, str] = match_nodes(before, after)
        """Id before for the id after of each node that is in both."""
        self.tensors: dict[str, str] = {}
        """The same for tensors."""
        self._match_tensors()
        self.after: dict[str, str] = {old: new for new, old in self.nodes.items()}
        """Id after for the id before, nodes and tensors."""
        self.after.update((old, new) for new, old in self.tensors.items())

    def _match_tensors(self) -> None:
        taken: set[str] = set()
        for new_id, old_id in self._candidates():
            if new_id not in self.tensors and old_id not in taken:
                self.tensors[new_id] = old_id
                taken.add(old_id)

    def _candidates(self) -> Iterator[tuple[str, str]]:
        """Tensors whose name is the same and borne by no other, then those at the same place,
        then those of the same name."""
        old_names, new_names = _by_name(self.old), _by_name(self.new)
        for name, ids in new_names.items():
            if len(ids) == len(old_names.get(name, ())) == 1:
                yield ids[0], old_names[name][0]
        there = _by_place(self.old)
        for place, new_id in _by_place(self.new).items():
            old_id = there.get((self.nodes.get(place[0], ""), place[1]))
            if old_id is not None:
                yield new_id, old_id
        for name, ids in new_names.items():
            yield from zip(ids, old_names.get(name, ()))
        alike = dict.fromkeys(self._saved_alike())
        new_counts, old_counts = Counter(n for n, _ in alike), Counter(o for _, o in alike)
        yield from ((n, o) for n, o in alike if new_counts[n] == old_counts[o] == 1)

    def _saved_alike(self) -> Iterator[tuple[str, str]]:
        """Tensors outside the graph that the same slot keeps, if they have no partner yet."""
        taken = set(self.tensors.values())
        for new_id, old_id in self.nodes.items():
            old_slots = self.old.slots(self.old.nodes[old_id])
            for name, (_, slot) in self.new.slots(self.new.nodes[new_id]).items():
                was = old_slots.get(name)
                if was is None or slot.tensor is None or was[1].tensor is None:
                    continue
                new, old = self.new.tensors[slot.tensor], self.old.tensors[was[1].tensor]
                is_open = new.id not in self.tensors and old.id not in taken
                if is_open and new.node is None and old.node is None and new.shape == old.shape:
                    yield new.id, old.id


def _by_name(reading: Reading) -> dict[str, list[str]]:
    """Tensors by their name."""
    found: dict[str, list[str]] = defaultdict(list)
    for info in reading.tensors.values():
        if info.name:
            found[info.name].append(info.id)
    return found


def _by_place(reading: Reading) -> dict[tuple[str, int], str]:
    """Leaves of the graph and tensors that are outputs, by node and output."""
    found = {(node, -1): tensor for tensor, node in reading.leaf_node.items()}
    for info in reading.tensors.values():
        if info.node is not None and info.id not in reading.leaf_node:
            found.setdefault((info.node, info.output_nr), info.id)
    return found
