"""What is reached from where in a graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from gradviz.model.graph import Graph
from gradviz.model.records import Node

Place = TypeVar("Place", bound=Hashable)


def reachable(starts: Iterable[Place], after: Callable[[Place], Iterable[Place]]) -> list[Place]:
    """All places that are reached, the starts among them, in the order in which they are found.

    Args:
        starts: Where it begins.
        after: What is reached from a place by one step.

    Examples:
        >>> reachable([3], lambda number: range(number))
        [3, 2, 1, 0]
    """
    found: dict[Place, None] = {}
    todo = list(starts)
    while todo:
        place = todo.pop()
        if place not in found:
            found[place] = None
            todo += after(place)
    return list(found)


def entries(node: Node | None) -> Iterator[str]:
    """Ids of the nodes that a node hands gradients on to."""
    for entry in () if node is None else node.next_functions:
        if entry is not None:
            yield entry[0]


def leading_to(targets: Iterable[str], nodes: dict[str, Node]) -> set[str]:
    """Those of the nodes from which backward comes to one of the targets, targets included."""
    users: dict[str, list[str]] = {}
    for node in nodes.values():
        for key in entries(node):
            users.setdefault(key, []).append(node.id)
    return set(reachable([key for key in targets if key in nodes], lambda k: users.get(k, ())))


def in_order(rows: Sequence[Node]) -> Iterator[Node]:
    """All nodes of a graph, each after those that hand gradients on to it."""
    nodes = {node.id: node for node in rows}
    waiting = dict.fromkeys(nodes, 0)
    for node in nodes.values():
        for key in entries(node):
            waiting[key] += 1
    ready = [key for key, count in waiting.items() if not count]
    while ready:
        node = nodes[ready.pop()]
        yield node
        for key in entries(node):
            waiting[key] -= 1
            if not waiting[key]:
                ready.append(key)


def same_nodes(one: Graph, other: Graph, pairs: Iterable[tuple[str, str]]) -> dict[str, str] | None:
    """Pairs of nodes behind pairs of nodes; ``None`` if the graphs differ anywhere."""
    found: dict[str, str] = {}
    todo = list(pairs)
    while todo:
        key, same = todo.pop()
        if key in found:
            continue
        if one.place_of(key) is None:
            return None
        mine, theirs = one[key].next_functions, other[same].next_functions
        if one[key].name != other[same].name or len(mine) != len(theirs):
            return None
        found[key] = same
        for entry, twin in zip(mine, theirs):
            if (entry is None) != (twin is None):
                return None
            if entry is not None and twin is not None:
                todo.append((entry[0], twin[0]))
    return found
