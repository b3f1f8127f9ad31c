"""Which module made each node: known from a recording, or inferred from the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradviz.analysis.fold.edges_of_calls import Edges
from gradviz.analysis.fold.explanations import OUTSIDE, Explanations
from gradviz.analysis.fold.gaps import Gap, gaps_of
from gradviz.analysis.fold.known_makers import Anchor, Makers
from gradviz.analysis.fold.modules_of_graph import Modules
from gradviz.model.collector import no_collection
from gradviz.model.graph import Graph


@dataclass(frozen=True, slots=True)
class Placement:
    """The module of each node."""

    paths: tuple[str | None, ...]
    """By place, the path of the module that made it, or of one around that; ``""`` is the path of
    an outermost module that no variable names; ``None``: no module did, or it is not known which.
    Of leaves ``None``."""
    outside: frozenset[int]
    """Places of the nodes that were made while no module ran: a recording has seen that."""
    inferred: frozenset[int]
    """Places of the nodes of which the module was not seen, but follows from what they use, and
    from those around them."""


def placement_of(graph: Graph) -> Placement:
    """The module of each node, as far as it is known or follows.

    A recording has seen it. Without one, a node that uses parameters as a module does was made by
    it. What the forward made between two nodes of one call was made in that call. At the end and at
    the beginning of calls it follows from what torch's own modules make, and from what all calls of
    a class have in common, where that leaves one way only. Where it leaves several, nodes are
    placed at the module around all of them; where code outside may have made them, nowhere.

    The time it takes grows with the nodes of the graph.

    Examples:
        >>> from gradviz.model import Node
        >>> node = Node("n0", "SinBackward0", (None,), module="net")
        >>> placement_of(Graph.of([node], [("n0", 0)])).paths
        ('net',)
    """
    if any(path is not None for path in graph.makers):
        seen = zip(graph.makers, graph.sources, graph.variables)
        outside = (
            place
            for place, (path, source, leaf) in enumerate(seen)
            if path is None and source is not None and leaf is None
        )
        return Placement(tuple(graph.makers), frozenset(outside), frozenset())
    with no_collection():
        paths = _inferred(graph)
    placed = (place for place, path in enumerate(paths) if path is not None)
    return Placement(tuple(paths), frozenset(), frozenset(placed))


def _inferred(graph: Graph) -> list[str | None]:
    modules = Modules(graph)
    anchors = Makers(graph, modules).anchors()
    found: list[str | None] = [None] * len(graph)
    if not anchors:
        return found
    gaps, makers = _explained(graph, modules, anchors)
    edges = Edges(graph, modules, gaps, makers)
    order = graph.order
    for anchor in anchors:
        found[order[anchor.at]] = modules.paths[anchor.module]
    for gap, may in zip(gaps, makers):
        for at, each in enumerate(may, gap.first):
            module = OUTSIDE if OUTSIDE in each else modules.called_around(modules.common(each))
            found[order[at]] = modules.paths[module] if module >= 0 else None
        for at, module in edges.placed(gap, may):
            found[order[at]] = modules.paths[module]
    return found


def _explained(
    graph: Graph, modules: Modules, anchors: Sequence[Anchor]
) -> tuple[list[Gap], list[list[frozenset[int]]]]:
    """The gaps, and who may have made each node of them.

    Rows whose modules were not called one after the other are gone through by hand.
    """
    used = {one for anchor in anchors for one in modules.chain(anchor.module)}
    explanations = Explanations(graph, modules, used)
    while True:
        gaps = list(gaps_of(graph, modules, anchors))
        found = [explanations.makers(gap) for gap in gaps]
        by_hand = {
            gap.common
            for gap, makers in zip(gaps, found)
            if makers is None and modules.is_row(gap.common)
        }
        if not by_hand:
            break
        modules.by_hand |= by_hand
    makers = [
        [frozenset((gap.common,))] * len(gap) if each is None else each
        for gap, each in zip(gaps, found)
    ]
    return gaps, makers
