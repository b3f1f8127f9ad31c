"""Which module made each node that saves something, where that is known or follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from gradviz.analysis.fold.placement import placement_of
from gradviz.model.graph import Graph
from gradviz.model.records import Node

UNKNOWN: Final = "?"
OUTSIDE: Final = ""
"""Made while no module ran."""
WORDS: Final = {OUTSIDE: "no module", UNKNOWN: "unknown"}


@dataclass(frozen=True, slots=True)
class Modules:
    """The modules of some nodes."""

    paths: Mapping[str, str]
    """By id of the node the path of its module, ``""`` for none, ``"?"`` where it is not known."""
    inferred: frozenset[str] = field(default=frozenset())
    """Ids of the nodes of which it is not known, but follows from those around them."""

    def words(self, node: str) -> str:
        """The module of a node as a table has it."""
        path = self.paths[node]
        words = WORDS.get(path, path)
        return f"{words} (inferred)" if node in self.inferred else words


def modules_of(
    graph: Graph, nodes: Iterable[Node], from_before: frozenset[str] | None = None
) -> Modules:
    """The modules of these nodes: as the forward was placed, and as a recording has seen it.

    Args:
        graph: Whose nodes they are.
        nodes: Which nodes.
        from_before: Of a recording's graph, the nodes that were there before it began.
    """
    placement = placement_of(graph)
    was_recorded = any(graph.makers)
    paths: dict[str, str] = {}
    inferred = set()
    for node in nodes:
        if from_before is not None and _was_seen(node, from_before):
            paths[node.id] = node.module or OUTSIDE
            continue
        place = graph.place_of(node.id)
        path = None if place is None else placement.paths[place]
        # Without a recording "" may be the outermost module, too.
        outside = OUTSIDE if was_recorded and path is not None else UNKNOWN
        paths[node.id] = path or outside
        if path and place in placement.inferred:
            inferred.add(node.id)
    return Modules(paths, frozenset(inferred))


def _was_seen(node: Node, from_before: frozenset[str]) -> bool:
    """Whether the recording saw how a node was made: then it knows the line."""
    return node.source is not None and node.id not in from_before
