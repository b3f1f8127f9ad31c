"""Which steps of a backward belong together: those that run the nodes of one fold."""

from __future__ import annotations

from dataclasses import dataclass

from gradviz.model.fold import Fold, FoldTree


@dataclass(frozen=True, slots=True)
class FoldRun:
    """Steps of a backward, one after the other, that run nodes of one fold.

    Examples:
        >>> from gradviz.model.graph import Graph
        >>> from gradviz.model.records import Node
        >>> graph = Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])
        >>> tree = FoldTree(graph, Fold("f0", "graph", (0,), 1, 0))
        >>> FoldRun(tree, tree.root, level=0, first=7, last=9, nodes=3).nodes
        3
    """

    tree: FoldTree
    """How the graph was folded when the backward started."""
    fold: Fold
    """The fold whose nodes run."""
    level: int
    """How many other runs it is inside of."""
    first: int
    """Place in ``recording.all_steps`` of its first step, with the sub-steps of its first node."""
    last: int
    """Place of its last step."""
    nodes: int
    """How many nodes it runs."""
    is_open: bool = False
    """Whether its steps are shown one by one at first."""
