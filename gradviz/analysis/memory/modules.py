"""Which module made each node, where that is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from gradviz.model.graph import Graph
from gradviz.model.memory import Belongs
from gradviz.model.records import Node

UNKNOWN: Final = "?"
OUTSIDE: Final = ""
"""Made while no module ran."""


def modules_of(
    graph: Graph,
    nodes: Sequence[Node],
    belongs: Mapping[str, Belongs],
    from_before: frozenset[str] | None = None,
) -> dict[str, str]:
    """Path of the module of each of these nodes.

    A recording has seen which module made a node. Without one, it is the module whose parameters
    the node uses, if these are parameters of one module only.

    Args:
        graph: Whose nodes they are.
        nodes: Which nodes.
        belongs: By id of a storage, what modules have on it.
        from_before: Of a recording's graph, the nodes that were there before it began.

    Returns:
        By id of the node; ``"?"`` where it is not known.
    """
    if from_before is not None:
        return {
            node.id: node.module or (OUTSIDE if _was_seen(node, from_before) else UNKNOWN)
            for node in nodes
        }
    users = _Users(graph, belongs)
    return {node.id: node.module or users.module_of(node) for node in nodes}


def _was_seen(node: Node, from_before: frozenset[str]) -> bool:
    """Whether the recording saw how a node was made: then it knows the line."""
    return node.source is not None and node.id not in from_before


class _Users:
    """Finds the parameters that a node uses."""

    def __init__(self, graph: Graph, belongs: Mapping[str, Belongs]) -> None:
        self._graph = graph
        self._belongs = belongs
        self._storages = {info.id: info.storage for info in graph.tensors}

    def module_of(self, node: Node) -> str:
        """The only module whose parameters or buffers a node uses."""
        if not self._belongs or node.variable is not None:
            return UNKNOWN
        found = {self._belongs[key].module for key in self._used_by(node) if key in self._belongs}
        only = found.pop() if len(found) == 1 else None
        return UNKNOWN if only is None else only

    def _used_by(self, node: Node) -> Iterator[str]:
        yield from (slot.storage for slot in node.saved if slot.storage is not None)
        for entry in node.next_functions:
            if entry is not None and (key := self._leaf_behind(entry[0])) is not None:
                yield key

    def _leaf_behind(self, node_id: str) -> str | None:
        """Storage of the leaf that a chain of nodes without another input leads to.

        Such is ``weight.t()``: its TBackward0 saves nothing and leads to one AccumulateGrad.
        """
        for _ in range(4):
            node = self._graph[node_id]
            if node.variable is not None:
                return self._storages.get(node.variable)
            if len(node.next_functions) != 1 or node.next_functions[0] is None or node.saved:
                return None
            node_id = node.next_functions[0][0]
        return None
