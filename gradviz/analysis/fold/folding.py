"""A graph folded, with the totals of the folds and those that are open at first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gradviz.model.folding import Folding
from gradviz.model.graph import Graph

SMALL: Final = 40
"""Nodes, leaves included, up to which a graph is not folded unless that is asked for."""
CROWD: Final = 16
"""Entries of one node up to which they are beside each other."""


def folding_of(
    graph: Graph,
    fold: object = None,
    is_readable: Callable[[Graph], bool] | None = None,
    has_model: bool = False,
) -> Folding | None:
    """How a graph is shown folded; ``None`` if it is not.

    Args:
        graph: The graph.
        fold: As :func:`~gradviz.analysis.fold.opening.opened` takes it; ``False``: not folded;
            ``None``: folded if it has more than 40 nodes, or one node with more than 16 entries,
            or has modules and is not readable.
        is_readable: Whether a picture of all nodes of a small graph is.
        has_model: Whether the modules of the graph are those of one that was given.

    Raises:
        OptionError: If ``fold`` cannot be this.

    Examples:
        >>> from gradviz.model import Node
        >>> graph = Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])
        >>> folding_of(graph) is None, folding_of(graph, 0).totals["f0"].nodes
        (True, 1)
    """
    if fold is False or (fold is None and _is_small(graph) and _is_read(graph, is_readable)):
        return None
    # What folds is imported when something is folded.
    from gradviz.analysis.fold.opening import opened
    from gradviz.analysis.fold.totals import all_totals
    from gradviz.analysis.fold.tree import fold_tree

    tree = fold_tree(graph)
    opening = opened(tree, fold)
    totals = {one.id: found for one, found in all_totals(tree)}
    return Folding(tree, opening, totals, fold is None, has_model and not graph.modules)


def _is_small(graph: Graph) -> bool:
    return len(graph) <= SMALL and all(len(row) <= CROWD for row in graph.targets)


def _is_read(graph: Graph, is_readable: Callable[[Graph], bool] | None) -> bool:
    """Whether a small graph is readable as it is; one without modules has no better picture."""
    return is_readable is None or not graph.modules or is_readable(graph)
