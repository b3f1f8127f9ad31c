"""One of two graphs that are matched: its nodes by place, and what each can be recognised by."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from gradviz.model.graph import Graph
from gradviz.model.records import Node, TensorInfo

Numbers: TypeAlias = dict[Hashable, int]
"""Numbers that stand for structures, the same in both graphs."""
NodeRole: TypeAlias = Literal["leaf", "output", "outside"]
"""What a tensor is to a graph: a leaf of it, the output of a node, or neither."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Names that say something about which tensor is which."""

    names: frozenset[str]
    """Names that stand in both graphs for tensors with the same role."""
    frozen: frozenset[str]
    """Names of leaves that the other graph knows, with the same shape, outside of it."""


class Side:
    """A graph, read for matching.

    Args:
        graph: The graph.
        nodes: Its nodes.
        shared: Names that both graphs know.
        by_name: Whether leaves with such names are recognised by them; all others are by their
            shape.
    """

    def __init__(
        self, graph: Graph, nodes: Sequence[Node], shared: Shared, *, by_name: bool
    ) -> None:
        self.by_name = by_name
        self.nodes = nodes
        self.places = {node.id: place for place, node in enumerate(self.nodes)}
        tensors = {info.id: info for info in graph.tensors}
        self.keys: list[Hashable] = [
            _key(n, tensors.get(n.variable or ""), shared, by_name) for n in self.nodes
        ]
        self.looks: list[Hashable] = [(n.attributes, n.output_shapes) for n in self.nodes]
        """Sizes and saved numbers, which decide between nodes of equal structure."""
        self.leaves: dict[int, TensorInfo] = {
            place: tensors[n.variable] for place, n in enumerate(self.nodes) if n.variable
        }
        self.frozen = {p for p, info in self.leaves.items() if info.name in shared.frozen}
        """Leaves that the other graph knows outside of it."""
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
        self._known = {i.id: i.name for i in graph.tensors if i.name and i.name in shared.names}

    def _named(self, graph: Graph, shared: Shared) -> dict[str, int]:
        """Nodes by the name of their tensor, if only one tensor bears it."""
        names = Counter(info.name for info in graph.tensors)
        return {
            info.name: self.places[info.node]
            for info in graph.tensors
            if info.name and info.name in shared.names and names[info.name] == 1
            if info.node in self.places
        }

    def unlike(self, place: int, other: Side, there: int) -> bool:
        """Whether sizes, saved numbers or tensors that are saved speak against a pair."""
        node, partner = self.nodes[place], other.nodes[there]
        if self.looks[place] != other.looks[there]:
            return True
        saved, theirs = self._saved(node), other._saved(partner)
        return any(saved[slot] != theirs[slot] for slot in saved if slot in theirs)

    def _saved(self, node: Node) -> dict[str, str]:
        """Which tensor that both graphs know is saved in each slot."""
        slots = (slot for slot in node.saved if slot.state in ("held", "modified"))
        return {slot.name: self._known.get(slot.tensor or slot.view_of or "", "") for slot in slots}

    def users_by_way(self, place: int, taken: Collection[int]) -> dict[Hashable, list[int]]:
        """Users of a node by how they use it, once with and once without how they look."""
        found: dict[Hashable, list[int]] = defaultdict(list)
        for user, slot, nr in self.users[place]:
            if user not in taken:
                way = (self.keys[user], slot, nr)
                found[way].append(user)
                found[way, self.looks[user]].append(user)
        return found

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

    def structures(self, numbers: Numbers, *, looks: bool = False) -> list[Hashable]:
        """A number per node for it and everything below, with or without sizes and numbers."""
        found = [0] * len(self.nodes)
        for place in self.inputs_first():
            below = tuple(e and (found[e[0]], e[1]) for e in self.below[place])
            look = self.looks[place] if looks else None
            way = ("below", self.keys[place], look, below)
            found[place] = numbers.setdefault(way, len(numbers))
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


def shared_names(before: Graph, after: Graph) -> Shared:
    """Names that both graphs know.

    A name that stands for a leaf here and for an output there is no evidence: in one program
    ``x = net(x)``, in the other ``h = net(x)``.
    """
    then, now = _roles(before), _roles(after)
    common = then.keys() & now.keys()
    return Shared(
        frozenset(
            name for name in common if {r for r, _ in then[name]} & {r for r, _ in now[name]}
        ),
        frozenset(name for name in common if _is_frozen(then[name] | now[name])),
    )


def _roles(graph: Graph) -> dict[str, set[tuple[NodeRole, tuple[int, ...]]]]:
    leaves = {info.id for info in graph.leaves}
    found: dict[str, set[tuple[NodeRole, tuple[int, ...]]]] = defaultdict(set)
    for info in graph.tensors:
        if info.name:
            found[info.name].add((role_of(info, info.id in leaves), info.shape))
    return found


def role_of(info: TensorInfo, is_leaf: bool) -> NodeRole:
    """What a tensor is to its graph."""
    return "leaf" if is_leaf else "outside" if info.node is None else "output"


def _is_frozen(roles: set[tuple[NodeRole, tuple[int, ...]]]) -> bool:
    shapes = {shape for _, shape in roles}
    return {role for role, _ in roles} == {"leaf", "outside"} and len(shapes) == 1


def _key(node: Node, variable: TensorInfo | None, shared: Shared, by_name: bool) -> Hashable:
    if variable is None:
        return node.name, ""
    is_known = variable.name in shared.names or variable.name in shared.frozen
    return node.name, variable.name if by_name and is_known else str(variable.shape)
