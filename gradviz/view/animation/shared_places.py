"""Which nodes share a place: graphs of one form that exist one after the other.

A loop builds the same graph in every pass. Side by side, most of the picture would be empty at
every step; at one place, each pass is drawn where the last one was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradviz.model.records import Node
from gradviz.view.graph.variants import Life


def share_nodes(
    nodes: Sequence[Node], lives: Mapping[str, Life], ports: Mapping[str, object]
) -> dict[str, str]:
    """For each node, the node whose place it shares, which may be itself.

    Args:
        nodes: All nodes that are drawn, in the order of their ids.
        lives: When each exists.
        ports: The ports of each node, which must be equal too.
    """
    found = {node.id: node.id for node in nodes}
    taken: dict[object, list[tuple[list[str], int]]] = {}
    groups = sorted(_groups(nodes), key=lambda group: min(lives[node.id] for node in group))
    for group in groups:
        form = _form(group, ports)
        first = min(lives[node.id][0] for node in group)
        last = max(lives[node.id][1] for node in group)
        places = taken.setdefault(form, [])
        for number, (place, end) in enumerate(places):
            if end < first:
                found.update(zip((node.id for node in group), place, strict=True))
                places[number] = place, last
                break
        else:
            places.append(([node.id for node in group], last))
    return found


def share_tensors(forms: Mapping[str, object | None], lives: Mapping[str, Life]) -> dict[str, str]:
    """The same for tensors outside the graph; a form of ``None`` shares with nobody."""
    found = {key: key for key in forms}
    taken: dict[object, list[tuple[str, int]]] = {}
    for key in sorted(forms, key=lambda key: lives[key]):
        first, last = lives[key]
        places = taken.setdefault(forms[key], [])
        free = [n for n, (_, end) in enumerate(places) if end < first]
        if forms[key] is not None and free:
            found[key] = places[free[0]][0]
            places[free[0]] = found[key], last
        else:
            places.append((key, last))
    return found


def _groups(nodes: Sequence[Node]) -> list[list[Node]]:
    """Nodes that edges connect, leaves not among them."""
    inner = {node.id: node for node in nodes if node.variable is None}
    head = {key: key for key in inner}

    def find(key: str) -> str:
        while head[key] != key:
            head[key] = head[head[key]]
            key = head[key]
        return key

    for node in inner.values():
        for entry in node.next_functions:
            if entry is not None and entry[0] in inner:
                head[find(entry[0])] = find(node.id)
    groups: dict[str, list[Node]] = {}
    for key, node in inner.items():
        groups.setdefault(find(key), []).append(node)
    return list(groups.values())


def _form(group: Sequence[Node], ports: Mapping[str, object]) -> object:
    """A key that is equal for groups that can share a place."""
    number = {node.id: i for i, node in enumerate(group)}
    return tuple(
        (
            node.name,
            tuple(
                None if entry is None else (number.get(entry[0], entry[0]), entry[1])
                for entry in node.next_functions
            ),
            ports[node.id],
        )
        for node in group
    )
