"""What a node is called on its card: by the module whose one operation it is, else by the
operation. torch's own name stands beneath."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from gradviz.model.graph import Graph
from gradviz.model.operations import words_of
from gradviz.model.records import Node


def titles_of(graph: Graph) -> Mapping[str, str]:
    """The classes of the modules of which a node is the one operation, by its id.

    A recording saw the calls of modules. Without one it is the module of which a node, and no
    other, uses all parameters, where these are several, and something else besides: of a module
    with one parameter it cannot be told from other code that uses it. Modules with other modules in
    them give no name. Nodes through which a parameter only passes on its way to one other node
    count with that node.

    Args:
        graph: The graph.
    """
    nodes = {node.id: node for node in graph.nodes}
    users = Counter(entry[0] for node in nodes.values() for entry in node.next_functions if entry)
    known = {one.path: one for one in graph.modules}
    outer = {path[:at] for path in known for at, one in enumerate(path) if one == "."}

    def is_way(node: Node) -> bool:
        """Whether it only hands on what depends on one leaf to one other node."""
        leaves = [*_parameters(node, nodes)]
        return len(node.next_functions) == len(leaves) == 1 and users[node.id] == 1

    makers: dict[object, tuple[str, list[str]]] = {}
    inner = [node for node in nodes.values() if node.variable is None and not is_way(node)]
    for node in inner:
        for path, number in node.calls:
            if path in known and path not in outer:
                makers.setdefault(number, (known[path].type, []))[1].append(node.id)
    if not any(node.calls for node in inner):
        uses = {node.id: set(_parameters(node, nodes)) for node in inner}
        for path, one in known.items():
            own = set(one.tensors) - set(one.buffers)
            found = [key for key, used in uses.items() if used & own]
            is_all = all(
                own <= uses[key] and len(nodes[key].next_functions) > len(own) for key in found
            )
            if len(own) > 1 and is_all and path not in outer:
                makers[path] = one.type, found
    types: dict[str, set[str]] = {}
    for name, made in makers.values():
        if len(made) == 1:
            types.setdefault(made[0], set()).add(name)
    return {key: names.pop() for key, names in types.items() if len(names) == 1}


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
