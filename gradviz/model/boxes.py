"""Which nodes are one box: what a person wrote as one operation.

A view has the numbers of what it is made of. Where those have no name, it is in the box of the node
that made them, if no other module did; where it has none itself, in the box of the one node that
uses it. So the transposed weight of a linear layer is in its box. Cross entropy is two nodes, with
nothing named between.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final

from gradviz.model.graph import Graph
from gradviz.model.node_titles import titles_of
from gradviz.model.operations import VIEWS

_ONE_OPERATION: Final = frozenset(
    ("LogSoftmaxBackward0", f"NllLoss{kind}Backward0") for kind in ("", "2D")
)
"""Nodes that compute one thing together."""
_MAY_BE_INSIDE: Final = VIEWS | {name for name, _ in _ONE_OPERATION}


def pairs_of(graph: Graph, calls: Sequence[Hashable] | None = None) -> dict[int, int]:
    """Nodes in the box of a node beside them, each with that one, by their places.

    In a box one node is used outside of it, and each other one by one node in it alone.

    Args:
        graph: The graph.
        calls: What made each node, by place; if given, no box has nodes of several.
    """
    names, hooks, titles = graph.names, graph.columns.hooks, titles_of(graph)
    known = {info.node for info in graph.tensors if info.name or info.retains_grad}
    known |= {node for node, _ in graph.roots}

    def made_of(place: int) -> int | None:
        """What a view is made of, if no module is called for it and it has no hook."""
        if names[place] not in VIEWS or hooks[place] or graph.id_at(place) in titles:
            return None
        inputs = set(filter(None, graph.targets[place]))
        return next(iter(inputs))[0] if len(inputs) == 1 else None

    def used_by(place: int) -> int | None:
        """The one node that what a node makes goes to, if that has no name."""
        users = {user for user, _ in graph.users[place]}
        is_known = len(users) != 1 or hooks[place] or graph.id_at(place) in known
        return None if is_known else users.pop()

    found: dict[int, int] = {}
    makers = calls or graph.makers
    places = [place for place in graph.order if names[place] in _MAY_BE_INSIDE]
    for place in places:
        if (maker := made_of(place)) is not None and graph.variables[maker] is None:
            is_part = maker in found or made_of(maker) is None
            if is_part and makers[maker] == makers[place] and used_by(maker) is not None:
                found[place] = maker
    for place in places:
        if place not in found and (user := used_by(place)) is not None:
            pair = names[place], names[user]
            is_part = pair in _ONE_OPERATION and graph.id_at(place) not in titles
            is_inside = calls is None or calls[place] == calls[user]
            if is_inside and (is_part or made_of(place) is not None):
                found[place] = user
    return found


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
