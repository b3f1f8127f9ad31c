"""Which node of a graph is which node of another graph that the same code left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import TypeAlias

from gradviz.model.facts import Node
from gradviz.model.graph import Graph

Key: TypeAlias = tuple[str, str]
"""torch's name of a node, and the name of the variable if it is a leaf's."""
Place: TypeAlias = "int | tuple[str, int]"
"""Where a neighbour is: an entry of ``next_functions``, or a user's name and entry."""


def match_nodes(before: Graph, after: Graph) -> dict[str, str]:
    """Pair the nodes of two graphs.

    Only nodes with the same name (leaves: of the same variable) are paired. What speaks for a
    pair comes in this order: tensors that bear the same name, everything below being the same,
    a neighbour that is paired, and last the order of the nodes.

    Returns:
        The id in ``before`` for each id in ``after`` that has a partner.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> sin = Node("n0", "SinBackward0", (None,))
        >>> exp = Node("n0", "ExpBackward0", (("n1", 0),))
        >>> below = Node("n1", "SinBackward0", (None,))
        >>> match_nodes(Graph.of([sin], [("n0", 0)]), Graph.of([exp, below], [("n0", 0)]))
        {'n1': 'n0'}
    """
    return _Matching(before, after).pairs


class _Matching:
    def __init__(self, before: Graph, after: Graph) -> None:
        self.pairs: dict[str, str] = {}
        self._taken: set[str] = set()
        self._old, self._new = old, new = _Side(before), _Side(after)
        for name, new_id in new.named.items():
            if name in old.named:
                self._pair(new_id, old.named[name])
        numbers: dict[Hashable, int] = {}
        self._pair_alike(old.structures(numbers), new.structures(numbers))
        for new_root, old_root in zip(after.roots, before.roots):
            self._pair(new_root[0], old_root[0])
        self._pair_neighbours()
        self._pair_alike(old.keys, new.keys)

    def _pair(self, new_id: str, old_id: str) -> bool:
        is_open = new_id not in self.pairs and old_id not in self._taken
        if not is_open or self._new.keys[new_id] != self._old.keys[old_id]:
            return False
        self.pairs[new_id] = old_id
        self._taken.add(old_id)
        return True

    def _pair_neighbours(self) -> None:
        waiting = list(self.pairs.items())
        while waiting:
            new_id, old_id = waiting.pop()
            there = self._old.neighbours(old_id)
            for place, new_near in self._new.neighbours(new_id).items():
                old_near = there.get(place)
                if old_near is not None and self._pair(new_near, old_near):
                    waiting.append((new_near, old_near))

    def _pair_alike(self, old: Mapping[str, Hashable], new: Mapping[str, Hashable]) -> None:
        """Pair nodes for which the same thing stands, in the order of the nodes."""
        groups: dict[Hashable, list[str]] = defaultdict(list)
        for old_id, thing in old.items():
            if old_id not in self._taken:
                groups[thing].append(old_id)
        alike: dict[Hashable, Iterator[str]] = {k: iter(ids) for k, ids in groups.items()}
        for new_id, thing in new.items():
            if new_id not in self.pairs and thing in alike:
                for old_id in alike[thing]:
                    self._pair(new_id, old_id)
                    break


class _Side:
    """One of the two graphs, with its nodes by what they are paired by."""

    def __init__(self, graph: Graph) -> None:
        self.nodes: dict[str, Node] = {node.id: node for node in graph.nodes}
        tensors = {info.id: info for info in graph.tensors}
        self.keys: dict[str, Key] = {}
        for node in self.nodes.values():
            variable = tensors.get(node.variable or "")
            self.keys[node.id] = node.name, (variable.name or "") if variable else ""
        self.named: dict[str, str] = {}
        for info in graph.tensors:
            if info.name and info.node in self.nodes:
                self.named.setdefault(info.name, info.node)
        self._users: dict[str, dict[Place, str]] = defaultdict(dict)
        for node in self.nodes.values():
            for slot, entry in enumerate(node.next_functions):
                if entry is not None:
                    self._users[entry[0]].setdefault((node.name, slot), node.id)

    def neighbours(self, node_id: str) -> dict[Place, str]:
        """What a node leads to and what leads to it."""
        entries = self.nodes[node_id].next_functions
        below: dict[Place, str] = {i: e[0] for i, e in enumerate(entries) if e is not None}
        return below | self._users[node_id]

    def structures(self, numbers: dict[Hashable, int]) -> dict[str, int]:
        """A number per node that stands for it and everything below it."""
        found: dict[str, int] = {}
        for node_id in self._inputs_first():
            entries = self.nodes[node_id].next_functions
            below = tuple(e and (found[e[0]], e[1]) for e in entries)
            found[node_id] = numbers.setdefault((self.keys[node_id], below), len(numbers))
        return {node_id: found[node_id] for node_id in self.nodes}

    def _inputs_first(self) -> list[str]:
        order: dict[str, None] = {}
        for start in self.nodes:
            stack = [(start, False)]
            while stack:
                node_id, is_seen = stack.pop()
                if is_seen:
                    order.setdefault(node_id)
                elif node_id not in order:
                    stack.append((node_id, True))
                    entries = filter(None, self.nodes[node_id].next_functions)
                    stack += [(entry[0], False) for entry in entries]
        return list(order)
