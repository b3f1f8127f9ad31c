"""What a node is called on its card: by the module whose one operation it is, else by the
operation. torch's own name stands beneath."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gradviz.model.graph import Graph
from gradviz.model.operations import words_of
from gradviz.model.records import Node


def titles_of(graph: Graph) -> Mapping[str, str]:
    """The classes of the modules of which a node is the one operation, by its id.

    A recording saw the calls of modules. Without one it is the module that has the parameters
    that the node uses, if no other node uses one of them. Nodes through which a parameter only
    passes on its way to one other node count with that node.

    Args:
        graph: The graph.
    """
    nodes = {node.id: node for node in graph.nodes}
    users: dict[str, list[str]] = {}
    for node in nodes.values():
        for entry in node.next_functions:
            if entry is not None:
                users.setdefault(entry[0], []).append(node.id)

    def is_way(node: Node) -> bool:
        """Whether it only hands on what depends on one leaf to one other node."""
        entries = [entry for entry in node.next_functions if entry is not None]
        return (
            len(entries) == 1
            and nodes[entries[0][0]].variable is not None
            and len(users.get(node.id, ())) == 1
        )

    owners = {key: one.path for one in graph.modules for key in one.tensors}
    found: dict[object, list[str]] = {}
    paths: dict[object, str] = {}
    for node in nodes.values():
        if node.variable is not None or is_way(node):
            continue
        for path, number in node.calls:
            found.setdefault(number, []).append(node.id)
            paths[number] = path
        if not node.calls:
            for path in {owners[key] for key in _parameters(node, nodes) if key in owners}:
                found.setdefault(path, []).append(node.id)
                paths[path] = path
    known = graph.modules_by_path
    alone = {ids[0]: paths[key] for key, ids in found.items() if len(ids) == 1}
    return {key: known[path].type for key, path in alone.items() if path in known}


def _parameters(node: Node, nodes: Mapping[str, Node]) -> Iterator[str]:
    """The leaves that a node uses, also where one node is in between."""
    for entry in node.next_functions:
        if entry is None:
            continue
        behind = nodes[entry[0]]
        if behind.variable is None and len(behind.next_functions) == 1:
            after = behind.next_functions[0]
            behind = nodes[after[0]] if after is not None else behind
        if behind.variable is not None:
            yield behind.variable


def title_of(node: Node, titles: Mapping[str, str]) -> str:
    """What a node is called.

    Args:
        node: The node.
        titles: What :func:`titles_of` found in its graph.
    """
    return titles.get(node.id) or words_of(node.name)
