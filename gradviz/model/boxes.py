"""Which nodes are one box: what a person wrote as one operation.

A view has the numbers of what it is made of. Where those have no name, it is in the box of the node
that made them, if no other module did; where it has none itself, in the box of the one node that
uses it. So the transposed weight of a linear layer is in its box. Cross entropy is two nodes, with
nothing named between.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Final

from gradviz.model.fold import Users
from gradviz.model.graph import Graph
from gradviz.model.node_titles import titles_of
from gradviz.model.operations import VIEWS

_ONE_OPERATION: Final = frozenset(
    ("LogSoftmaxBackward0", f"NllLoss{kind}Backward0") for kind in ("", "2D")
)
"""Nodes that compute one thing together."""


def pairs_of(graph: Graph, calls: Sequence[Hashable] | None = None) -> dict[int, int]:
    """Nodes in the box of a node beside them, each with that one, by their places.

    In a box one node is used outside of it, and each other one by one node in it alone.

    Args:
        graph: The graph.
        calls: What made each node, by place; if given, no box has nodes of several.
    """
    return dict(_Pairs(graph, calls).found())


def heads_of(pairs: Mapping[int, int]) -> dict[int, int]:
    """The node that a box is called by, for each other node in it.

    Args:
        pairs: What :func:`pairs_of` found.

    Examples:
        >>> heads_of({1: 2, 2: 3, 5: 4})
        {1: 3, 2: 3, 5: 4}
    """
    found: dict[int, int] = {}
    for place in pairs:
        before = []
        while place in pairs and place not in found:
            before.append(place)
            place = pairs[place]
        found |= dict.fromkeys(before, found.get(place, place))
    return found


class _Pairs:
    """Nodes that are in the box of a node beside them."""

    def __init__(self, graph: Graph, calls: Sequence[Hashable] | None) -> None:
        self._graph, self._titles, self._calls = graph, titles_of(graph), calls
        self._named = {info.node for info in graph.tensors if info.name or info.retains_grad}
        self._roots = {place for place, _ in graph.root_places}
        self._entries = Users(graph)

    def found(self) -> Iterator[tuple[int, int]]:
        """Such nodes, each with the one that it is with."""
        graph, calls, with_maker = self._graph, self._calls, set[int]()
        makers = calls or graph.makers
        for place in graph.order:
            if not self._is_view(place):
                continue
            (maker,) = {target for target, _ in filter(None, graph.targets[place])}
            is_part = maker in with_maker or not self._is_view(maker)
            is_part = is_part and makers[maker] == makers[place]
            if is_part and graph.variables[maker] is None and self._is_passed(maker):
                with_maker.add(place)
                yield place, maker
        for place in graph.order:
            if place in with_maker or graph.names[place] not in _MAY_BE_USED:
                continue
            if not self._is_passed(place):
                continue
            (user,) = self._users(place)
            pair = graph.names[place], graph.names[user]
            is_part = pair in _ONE_OPERATION and graph.id_at(place) not in self._titles
            is_inside = calls is None or calls[place] == calls[user]
            if is_inside and (is_part or self._is_view(place)):
                yield place, user

    def _is_view(self, place: int) -> bool:
        """Whether it is a view that no module is called for, with one input and without a hook."""
        graph = self._graph
        if graph.names[place] not in VIEWS or graph.id_at(place) in self._titles:
            return False
        inputs = set(filter(None, graph.targets[place]))
        return len(inputs) == 1 and not graph.columns.hooks[place]

    def _is_passed(self, place: int) -> bool:
        """Whether what it makes has no name and goes to one node only."""
        graph = self._graph
        is_known = graph.id_at(place) in self._named or place in self._roots
        return not is_known and len(self._users(place)) == 1 and not graph.columns.hooks[place]

    def _users(self, place: int) -> set[int]:
        return {user for user, _ in self._entries[place]}


_MAY_BE_USED: Final = VIEWS | {name for name, _ in _ONE_OPERATION}
"""Nodes that may be in the box of the one that uses them."""
