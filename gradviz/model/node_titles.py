"""What a node is called on its card: by the module whose one operation it is, where a recording saw
that, else by the operation. torch's own name stands beneath."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from gradviz.model.graph import Graph
from gradviz.model.operations import VIEWS, words_of
from gradviz.model.records import Node

_PRODUCTS: Final = frozenset(("AddmmBackward0", "MmBackward0"))


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
    made: dict[int, tuple[str, list[int]]] = {}
    found: dict[str, str] = {}
    names, targets, variables = graph.names, graph.targets, graph.variables
    weights = {key for one in graph.modules for key in one.tensors}
    for place, (name, calls) in enumerate(zip(names, graph.calls)):
        for factor in _right_factors(graph, place) if name in _PRODUCTS else ():
            behind = [variables[entry[0]] for entry in targets[factor] if entry]
            is_weight = name == "AddmmBackward0" or not weights.isdisjoint(behind)
            if names[factor] == "TBackward0" and is_weight:
                found[graph.id_at(place)] = "linear"
        for path, number in calls if variables[place] is None else ():
            if path in known and path not in outer:
                made.setdefault(number, (known[path], []))[1].append(place)
    for name, places in made.values():
        operations = [place for place in places if names[place] not in VIEWS] or places
        if len(operations) == 1:
            found[graph.id_at(operations[0])] = name
    return found


def _right_factors(graph: Graph, place: int) -> Iterator[int]:
    """The nodes that made the right one of two matrices that are multiplied, and nothing else is
    done."""
    node = graph.nodes[place]
    scales = (value for name, value in node.attributes if name in ("alpha", "beta"))
    if all(value == 1 for value in scales):
        for name, entry in zip(node.arguments, graph.targets[place]):
            if name == "mat2" and entry is not None:
                yield entry[0]


def title_of(node: Node, titles: Mapping[str, str]) -> str:
    """What a node is called.

    Args:
        node: The node.
        titles: What :func:`titles_of` found in its graph.
    """
    return titles.get(node.id) or words_of(node.name)
