"""The order in which a forward made the nodes of a graph."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from gradviz.model.columns import Columns


def order_of(
    columns: Columns, roots: Sequence[tuple[int, int]], known: Sequence[int] | None
) -> Sequence[int]:
    """Places of all nodes but the leaves, each after the nodes whose outputs it uses.

    Args:
        columns: The facts of all nodes; the nodes they point to and the leaves are read.
        roots: Place and output number of each root.
        known: The places as torch has counted the nodes; ``None`` if it is not known.

    Returns:
        ``known`` where that is such an order. It is not where several threads made the graph, each
        of which counts its own, nor where torch made a node anew, as it does for views of a tensor
        that was written: then the nearest order that is. Without ``known`` the order of a walk in
        depth: what an argument needs before what the next argument needs.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> nodes = [
        ...     Node("n0", "MulBackward0", (("n2", 0), ("n1", 0))),
        ...     Node("n1", "SinBackward0", (None,)),
        ...     Node("n2", "CosBackward0", (None,)),
        ... ]
        >>> Graph.of(nodes, [("n0", 0)]).order
        [2, 1, 0]
        >>> Graph.of(nodes, [("n0", 0)], order=["n1", "n2", "n0"]).order
        (1, 2, 0)
    """
    if known is None:
        return _in_depth(columns, roots)
    rank = [-1] * len(columns.name)
    for number, place in enumerate(known):
        rank[place] = number
    following = columns.next_functions
    rises = all(
        rank[entry[0]] < rank[place] for place in known for entry in following[place] if entry
    )
    count = sum(variable is None for variable in columns.variable)
    if rises and len(known) == count:
        return known
    nearest = _nearest(columns, rank)
    return nearest if len(nearest) == count else _in_depth(columns, roots)


def _in_depth(columns: Columns, roots: Sequence[tuple[int, int]]) -> list[int]:
    following = columns.next_functions
    found: list[int] = []
    seen = bytearray(len(following))
    starts = [place for place, _ in roots]
    for start in (*starts, *range(len(following))):
        if seen[start]:
            continue
        seen[start] = 1
        todo = [(start, iter(following[start]))]
        while todo:
            place, entries = todo[-1]
            for entry in entries:
                if entry is not None and not seen[entry[0]]:
                    seen[entry[0]] = 1
                    todo.append((entry[0], iter(following[entry[0]])))
                    break
            else:
                todo.pop()
                found.append(place)
    return [place for place in found if columns.variable[place] is None]


def _nearest(columns: Columns, rank: Sequence[int]) -> list[int]:
    """Every node as soon as those that it uses are there, the one with the lowest rank first."""
    following = columns.next_functions
    users: list[list[int]] = [[] for _ in following]
    missing = [0] * len(following)
    for place, row in enumerate(following):
        for entry in row:
            if entry is not None:
                users[entry[0]].append(place)
                missing[place] += 1
    ready = [(rank[place], place) for place, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    found: list[int] = []
    while ready:
        _, place = heapq.heappop(ready)
        if columns.variable[place] is None:
            found.append(place)
        for user in users[place]:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, (rank[user], user))
    return found
