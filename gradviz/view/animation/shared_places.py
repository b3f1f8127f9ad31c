"""Which nodes share a place: graphs of one form that exist one after the other.

A loop builds the same graph in every pass. Side by side, most of the picture would be empty at
every step; at one place, each pass is drawn where the last one was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradviz.model.records import Node
from gradviz.view.graph.drawn_scenes import Life


def share_nodes(
    nodes: Sequence[Node], lives: Mapping[str, Life], ports: Mapping[str, object]
) -> dict[str, str]:
    """For each node, the node whose place it shares, which may be itself.

    Args:
        nodes: All nodes that are drawn, in the order of their ids.
        lives: When each exists.
        ports: The ports of each node, which must be equal too.
    """
    own = {node.id: node.id for node in nodes}
    groups = {tuple(node.id for node in one): _form(one, ports) for one in _groups(nodes)}
    return own | _shared(groups, lives)


def share_tensors(forms: Mapping[str, object | None], lives: Mapping[str, Life]) -> dict[str, str]:
    """The same for tensors outside the graph; a form of ``None`` shares with nobody."""
    # A form that nothing else has.
    groups: dict[tuple[str, ...], object] = {
        (key,): key if form is None else (form,) for key, form in forms.items()
    }
    return _shared(groups, lives)


def _shared(groups: Mapping[tuple[str, ...], object], lives: Mapping[str, Life]) -> dict[str, str]:
    """For what is in these groups, what the places are that it shares: of a group of the same form
    that is gone before its own begins.

    Args:
        groups: Groups that stay together, with their forms.
        lives: When each thing in them exists.
    """
    found: dict[str, str] = {}
    taken: dict[object, list[tuple[tuple[str, ...], int]]] = {}
    for group in sorted(groups, key=lambda group: min(lives[key] for key in group)):
        first = min(lives[key][0] for key in group)
        places = taken.setdefault(groups[group], [])
        free = (number for number, (_, end) in enumerate(places) if end < first)
        if (number := next(free, None)) is None:
            number = len(places)
            places.append((group, 0))
        place = places[number][0]
        found.update(zip(group, place, strict=True))
        places[number] = place, max(lives[key][1] for key in group)
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
