"""One of two graphs that are matched: its nodes by place, and what each can be recognised by."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable
from typing import TypeAlias

from gradviz.model.facts import Node, TensorInfo
from gradviz.model.graph import Graph

Numbers: TypeAlias = dict[Hashable, int]
"""Numbers that stand for structures, the same in both graphs."""


class Side:
    """A graph, read for matching.

    Args:
        graph: The graph.
        shared: Names of tensors that both graphs know; a leaf of another name is recognised by
            its shape.
    """

    def __init__(self, graph: Graph, shared: Collection[str]) -> None:
        self.nodes: list[Node] = list(graph.nodes)
        self.places = {node.id: place for place, node in enumerate(self.nodes)}
        tensors = {info.id: info for info in graph.tensors}
        self.keys: list[Hashable] = [
            _key(n, tensors.get(n.variable or ""), shared) for n in self.nodes
        ]
        self.below = [
            tuple(None if e is None else (self.places[e[0]], e[1]) for e in node.next_functions)
            for node in self.nodes
        ]
        self.users: list[list[tuple[int, int, int]]] = [[] for _ in self.nodes]
        """Per node ``(user, slot, output number)`` for each entry that leads to it."""
        for user, entries in enumerate(self.below):
            for slot, entry in enumerate(entries):
                if entry is not None:
                    self.users[entry[0]].append((user, slot, entry[1]))
        self.roots = [(self.places[node_id], nr) for node_id, nr in graph.roots]
        self.named = self._named(graph, shared)
        self._known = {i.id: i.name for i in graph.tensors if i.name and i.name in shared}

    def _named(self, graph: Graph, shared: Collection[str]) -> dict[str, int]:
        """Nodes by the name of their tensor, if only one tensor bears it."""
        names = Counter(info.name for info in graph.tensors)
        return {
            info.name: self.places[info.node]
            for info in graph.tensors
            if info.name and info.name in shared and names[info.name] == 1
            if info.node in self.places
        }

    def unlike(self, place: int, other: Side, there: int) -> bool:
        """Whether sizes, saved numbers or tensors that are saved speak against a pair."""
        node, partner = self.nodes[place], other.nodes[there]
        if (node.output_shapes, node.attributes) != (partner.output_shapes, partner.attributes):
            return True
        saved, theirs = self._saved(node), other._saved(partner)
        return any(saved[slot] != theirs[slot] for slot in saved if slot in theirs)

    def _saved(self, node: Node) -> dict[str, str]:
        """Which tensor that both graphs know is saved in each slot."""
        slots = (slot for slot in node.saved if slot.state in ("held", "modified"))
        return {slot.name: self._known.get(slot.tensor or slot.view_of or "", "") for slot in slots}

    def inputs_first(self) -> list[int]:
        """Every node after all it leads to."""
        order: dict[int, None] = {}
        for start in range(len(self.nodes)):
            stack = [(start, False)]
            while stack:
                place, is_seen = stack.pop()
                if is_seen:
                    order.setdefault(place)
                elif place not in order:
                    stack.append((place, True))
                    stack += [(e[0], False) for e in self.below[place] if e is not None]
        return list(order)

    def structures(self, numbers: Numbers) -> list[Hashable]:
        """A number per node for it and everything below."""
        found = [0] * len(self.nodes)
        for place in self.inputs_first():
            below = tuple(e and (found[e[0]], e[1]) for e in self.below[place])
            found[place] = numbers.setdefault(("below", self.keys[place], below), len(numbers))
        return list(found)

    def paths(self, numbers: Numbers) -> list[Hashable]:
        """A number per node for it and all ways that lead to it from the roots.

        One entry of ``next_functions`` leads to one node, so no two nodes below the roots have
        the same.
        """
        roots: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for number, (place, nr) in enumerate(self.roots):
            roots[place].append((number, nr))
        names: dict[int, list[str]] = defaultdict(list)
        for name, place in self.named.items():
            names[place].append(name)
        found = [0] * len(self.nodes)
        for place in reversed(self.inputs_first()):
            users = tuple(sorted((found[user], slot, nr) for user, slot, nr in self.users[place]))
            start = () if users or place in roots else tuple(sorted(names[place]))
            way = ("above", self.keys[place], tuple(roots[place]), start, users)
            found[place] = numbers.setdefault(way, len(numbers))
        return list(found)

    def surroundings(self) -> list[Hashable]:
        """What each node leads to and is led to from, by their keys."""
        return [
            (
                self.keys[place],
                tuple(e and (self.keys[e[0]], e[1]) for e in entries),
                tuple(sorted((repr(self.keys[u]), slot, nr) for u, slot, nr in self.users[place])),
            )
            for place, entries in enumerate(self.below)
        ]


def shared_names(before: Graph, after: Graph) -> frozenset[str]:
    """Names of tensors that both graphs know."""
    names = {info.name for info in before.tensors if info.name}
    return frozenset(info.name for info in after.tensors if info.name in names and info.name)


def _key(node: Node, variable: TensorInfo | None, shared: Collection[str]) -> Hashable:
    if variable is None:
        return node.name, ""
    return node.name, variable.name if variable.name in shared else str(variable.shape)
