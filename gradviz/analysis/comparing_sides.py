"""A graph with what comparing looks up in it, and the pairs of two graphs."""

from __future__ import annotations

from collections import defaultdict
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
        """Tensors with the same name, then those at the same place."""
        old_names, new_names = _by_name(self.old), _by_name(self.new)
        yield from ((i, old_names[name]) for name, i in new_names.items() if name in old_names)
        for new_id, old_id in self.nodes.items():
            variables = self.new.nodes[new_id].variable, self.old.nodes[old_id].variable
            if variables[0] is not None and variables[1] is not None:
                yield variables[0], variables[1]
        there = _by_name(self.new), _by_name(self.old)
        open_new, open_old = _by_place(self.new, there[1]), _by_place(self.old, there[0])
        for (node_id, output_nr), new_id in open_new.items():
            there_id = open_old.get((self.nodes.get(node_id, ""), output_nr))
            if there_id is not None:
                yield new_id, there_id
        yield from self._saved_alike(there[1], there[0])

    def _saved_alike(
        self, old_names: dict[tuple[str, int], str], new_names: dict[tuple[str, int], str]
    ) -> Iterator[tuple[str, str]]:
        """Tensors outside the graph that the same slot keeps."""
        for new_id, old_id in self.nodes.items():
            old_slots = self.old.slots(self.old.nodes[old_id])
            for name, (_, slot) in self.new.slots(self.new.nodes[new_id]).items():
                was = old_slots.get(name)
                if was is None or slot.tensor is None or was[1].tensor is None:
                    continue
                new, old = self.new.tensors[slot.tensor], self.old.tensors[was[1].tensor]
                is_outside = new.node is None and old.node is None and new.shape == old.shape
                if is_outside and (new.name, 0) not in old_names and (old.name, 0) not in new_names:
                    yield new.id, old.id


def _by_name(reading: Reading) -> dict[tuple[str, int], str]:
    """Tensors by their name and how many before bear the same."""
    found: dict[tuple[str, int], str] = {}
    seen: dict[str, int] = defaultdict(int)
    for info in reading.tensors.values():
        if info.name:
            found[info.name, seen[info.name]] = info.id
            seen[info.name] += 1
    return found


def _by_place(reading: Reading, named: dict[tuple[str, int], str]) -> dict[tuple[str, int], str]:
    """Tensors that are outputs, by node and output; not those whose name the other graph has."""
    return {
        (info.node, info.output_nr): info.id
        for info in reversed(reading.tensors.values())
        if info.node is not None and (info.name or "", 0) not in named
    }
