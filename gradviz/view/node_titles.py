"""What a node is called on its card: by the module whose one operation it is, where a recording saw
that, else by the operation. torch's own name stands beneath."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gradviz.model.graph import Graph
from gradviz.model.operations import VIEWS, words_of
from gradviz.model.records import Node


def titles_of(graph: Graph) -> Mapping[str, str]:
    """Names of nodes that their own names do not tell, by id.

    Those are the classes of modules of which a node is the one operation: a recording saw the
    calls of modules, and views do not count. Modules with other modules in them give no name.
    A product with a transposed weight of a module is what ``torch.nn.functional.linear`` computes,
    and so is one with any transposed matrix to which something is added.

    Args:
        graph: The graph.
    """
    known = {one.path: one.type for one in graph.modules}
    outer = {path[:at] for path in known for at, one in enumerate(path) if one == "."}
    made: dict[int, tuple[str, list[Node]]] = {}
    found: dict[str, str] = {}
    rows = {node.id: node for node in graph.nodes}
    weights = {key for one in graph.modules for key in one.tensors}
    for node in graph.nodes:
        for factor in map(rows.__getitem__, _right_factors(node)):
            behind = [rows[entry[0]].variable for entry in factor.next_functions if entry]
            is_weight = node.name == "AddmmBackward0" or not weights.isdisjoint(behind)
            if factor.name == "TBackward0" and is_weight:
                found[node.id] = "linear"
        for path, number in node.calls if node.variable is None else ():
            if path in known and path not in outer:
                made.setdefault(number, (known[path], []))[1].append(node)
    for name, nodes in made.values():
        operations = [node for node in nodes if node.name not in VIEWS] or nodes
        if len(operations) == 1:
            found[operations[0].id] = name
    return found


def _right_factors(node: Node) -> Iterator[str]:
    """The nodes that made the right one of two matrices that are multiplied, and nothing else is
    done."""
    scales = (value for name, value in node.attributes if name in ("alpha", "beta"))
    if node.name in ("AddmmBackward0", "MmBackward0") and all(value == 1 for value in scales):
        for name, entry in zip(node.arguments, node.next_functions):
            if name == "mat2" and entry is not None:
                yield entry[0]


def title_of(node: Node, titles: Mapping[str, str]) -> str:
    """What a node is called.

    Args:
        node: The node.
        titles: What :func:`titles_of` found in its graph.
    """
    return titles.get(node.id) or words_of(node.name)
