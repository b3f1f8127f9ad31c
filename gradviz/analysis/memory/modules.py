"""Which module made each node that saves something, where that is known or follows."""

from __future__ import annotations

from typing import Final

from gradviz.analysis.fold.placement import placement_of
from gradviz.model.graph import Graph

UNKNOWN: Final = "?"
OUTSIDE: Final = "-"
"""Made while no module ran."""
WORDS: Final = {OUTSIDE: "no module", UNKNOWN: "unknown", "": "the outermost module"}


def place_in(graph: Graph, node: str) -> int:
    """The place of a node that a graph has."""
    place = graph.place_of(node)
    assert place is not None
    return place


class Modules:
    """The modules of the nodes of a graph: as the forward was placed, and as a recording has seen
    it.

    Args:
        graph: The graph.
        from_before: Of a recording's graph, the nodes that were there before it began.
    """

    def __init__(self, graph: Graph, from_before: frozenset[str] | None = None) -> None:
        self._graph = graph
        self._placement = placement_of(graph)
        self._from_before = from_before

    def path(self, node: str) -> str:
        """The path of the module of a node, ``"-"`` for none, ``"?"`` where it is not known."""
        place = place_in(self._graph, node)
        if self._was_seen(node, place):
            made_by = self._graph.makers[place]
            return OUTSIDE if made_by is None else made_by
        path = self._placement.paths[place]
        if path is not None:
            return path
        is_outside = self._from_before is None and place in self._placement.outside
        return OUTSIDE if is_outside else UNKNOWN

    def is_inferred(self, node: str) -> bool:
        """Whether the module of a node was not seen, but follows from parameters and other
        nodes."""
        place = place_in(self._graph, node)
        return place in self._placement.inferred and not self._was_seen(node, place)

    def words(self, node: str) -> str:
        """The module of a node as a table has it."""
        path = self.path(node)
        words = WORDS.get(path, path)
        return f"{words} (inferred)" if self.is_inferred(node) else words

    def _was_seen(self, node: str, place: int) -> bool:
        """Whether the recording saw how a node was made: then it knows the line."""
        if self._from_before is None or node in self._from_before:
            return False
        return self._graph.columns.source[place] is not None
