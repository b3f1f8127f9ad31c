"""One of two graphs that are matched: its nodes by place, and what each can be recognised by."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from gradviz.model.graph import Graph
from gradviz.model.records import TensorInfo

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
        shared: Names that both graphs know.
        by_name: Whether leaves with such names are recognised by them; all others are by their
            shape.
    """

    def __init__(self, graph: Graph, shared: Shared, *, by_name: bool) -> None:
        self.by_name = by_name
        self._saves = graph.saved
        tensors = {info.id: info for info in graph.tensors}
        alike: dict[Hashable, Hashable] = {}
        """What is equal is one object: a graph of a million nodes has few kinds of them."""
        self.keys: list[Hashable] = [
            alike.setdefault(key, key)
            for key in (
                _key(name, tensors.get(variable or ""), shared, by_name)
                for name, variable in zip(graph.names, graph.variables)
            )
        ]
        self.looks: list[Hashable] = [
            alike.setdefault(look, look)
            for look in zip(graph.columns.attributes, graph.output_shapes)
        ]
        """Sizes and saved numbers, which decide between nodes of equal structure."""
        self.leaves: dict[int, TensorInfo] = {
            place: tensors[variable] for place, variable in enumerate(graph.variables) if variable
        }
        self.frozen = {p for p, info in self.leaves.items() if info.name in shared.frozen}
        """Leaves that the other graph knows outside of it."""
        self.below, self._users = graph.targets, graph.users
        self.roots = graph.root_places
        self.named = self._named(graph, shared)
        self._known = {i.id: i.name for i in graph.tensors if i.name and i.name in shared.names}

    def _named(self, graph: Graph, shared: Shared) -> dict[str, int]:
        """Nodes by the name of their tensor, if only one tensor bears it."""
        names = Counter(info.name for info in graph.tensors)
        return {
            info.name: place
            for info in graph.tensors
            if info.name and info.name in shared.names and names[info.name] == 1
            if (place := graph.place_of(info.node)) is not None
        }

    def __len__(self) -> int:
        return len(self.keys)

    def users(self, place: int) -> list[tuple[int, int, int]]:
        """``(user, slot, output number)`` for each entry that leads to a node."""
        following = self.below
        return [
            (user, slot, entry[1])
            for user, slot in self._users[place]
            if (entry := following[user][slot]) is not None
        ]

    def unlike(self, place: int, other: Side, there: int) -> bool:
        """Whether sizes, saved numbers or tensors that are saved speak against a pair."""
        if self.looks[place] != other.looks[there]:
            return True
        if not self._known and not other._known:
            return False
        saved, theirs = self._saved(place), other._saved(there)
        return any(saved[slot] != theirs[slot] for slot in saved if slot in theirs)

    def _saved(self, place: int) -> dict[str, str]:
        """Which tensor that both graphs know is saved in each slot."""
        slots = (slot for slot in self._saves[place] if slot.state in ("held", "modified"))
        return {slot.name: self._known.get(slot.tensor or slot.view_of or "", "") for slot in slots}

    def users_by_way(self, place: int, taken: Collection[int]) -> dict[Hashable, list[int]]:
        """Users of a node by how they use it, once with and once without how they look."""
        found: dict[Hashable, list[int]] = defaultdict(list)
        for user, slot, nr in self.users(place):
            if user not in taken:
                way = (self.keys[user], slot, nr)
                found[way].append(user)
                found[way, self.looks[user]].append(user)
        return found

    @cached_property
    def inputs_first(self) -> Sequence[int]:
        """Every node after all it leads to."""
        order, is_placed = array("q"), bytearray(len(self))
        for start in range(len(self)):
            stack = [start]
            while stack:
                place = stack.pop()
                if place < 0:  # all it leads to is placed
                    if not is_placed[~place]:
                        is_placed[~place] = True
                        order.append(~place)
                elif not is_placed[place]:
                    stack.append(~place)
                    stack += [e[0] for e in self.below[place] if e is not None]
        return order

    def structures(self, numbers: Numbers, *, looks: bool = False) -> Sequence[Hashable]:
        """A number per node for it and everything below, with or without sizes and numbers."""
        found = array("q", bytes(8 * len(self)))
        for place in self.inputs_first:
            below = tuple(e and (found[e[0]], e[1]) for e in self.below[place])
            look = self.looks[place] if looks else None
            way = ("below", self.keys[place], look, below)
            found[place] = numbers.setdefault(way, len(numbers))
        return found

    def paths(self, numbers: Numbers) -> Sequence[Hashable]:
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
        found = array("q", bytes(8 * len(self)))
        for place in reversed(self.inputs_first):
            users = tuple(sorted((found[user], slot, nr) for user, slot, nr in self.users(place)))
            start = () if users or place in roots else tuple(sorted(names[place]))
            way = ("above", self.keys[place], tuple(roots[place]), start, users)
            found[place] = numbers.setdefault(way, len(numbers))
        return found

    def surroundings(self) -> list[Hashable]:
        """What each node leads to and is led to from, by their keys."""
        return [
            (
                self.keys[place],
                tuple(e and (self.keys[e[0]], e[1]) for e in entries),
                tuple(sorted((repr(self.keys[u]), slot, nr) for u, slot, nr in self.users(place))),
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


def _key(name: str, variable: TensorInfo | None, shared: Shared, by_name: bool) -> Hashable:
    if variable is None:
        return name, ""
    is_known = variable.name in shared.names or variable.name in shared.frozen
    return name, variable.name if by_name and is_known else str(variable.shape)
