"""Folded graphs made by hand, so that the tests of their pictures need no torch."""

from __future__ import annotations

from hypothesis import strategies as st

from gradviz.analysis.fold.folding import folding_of
from gradviz.model import Graph, Node
from gradviz.model.folding import Folding
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.graph.options import DEFAULT, DrawOptions
from tests.view.graphs import tensor

NAMES = ("Mul", "Add", "Sin", "Exp", "Cos", "Tanh", "Log", "Neg", "T", "View", "ToCopy")


def blocks(count: int = 4) -> Graph:
    """A model of equal blocks with a residual path, each with two modules and a weight."""
    nodes: list[tuple[str, str, tuple[int, ...]]] = []  # name, module, made from
    before = -1  # the leaf that is the input
    for block in range(count):
        path = f"model.h.{block}"
        start, into = len(nodes), before
        nodes += [
            ("ExpBackward0", f"{path}.norm", (into,)),
            ("MulBackward0", f"{path}.mlp", (start, -2 - block)),
            ("TanhBackward0", f"{path}.mlp", (start + 1,)),
            ("AddBackward0", path, (start + 2, into)),
        ]
        before = start + 3
    nodes += [("LogBackward0", "model.norm", (before,)), ("SumBackward0", "", (len(nodes),))]
    return _graph(nodes, leaves=1 + count)


def _graph(made: list[tuple[str, str, tuple[int, ...]]], leaves: int) -> Graph:
    """A graph of nodes in the order of the forward; a number below 0 is a leaf."""
    last = len(made) - 1

    def key(number: int) -> str:
        return f"n{last - number}"

    rows = [
        Node(
            key(i),
            made[i][0],
            tuple((key(other), 0) for other in made[i][2]),
            module=made[i][1] or None,
        )
        for i in range(last, -1, -1)
    ]
    rows += [
        Node(key(-1 - i), "AccumulateGrad", (), variable=f"t{i}", state="saves nothing")
        for i in range(leaves)
    ]
    tensors = [tensor(i, f"w{i}", node=key(-1 - i), shape=(3,)) for i in range(leaves)]
    return Graph.of(rows, [(key(last), 0)], tensors, order=[key(i) for i in range(len(made))])


@st.composite
def folded_graphs(draw: st.DrawFn) -> Graph:
    """Random graphs whose nodes are of modules in modules, with skips and shared leaves."""
    count = draw(st.integers(2, 60))
    leaves = draw(st.integers(1, 12))
    made: list[tuple[str, str, tuple[int, ...]]] = []
    path: list[str] = ["m"]
    for i in range(count):
        if len(path) > 1 and draw(st.integers(0, 3)) == 0:
            path.pop()
        if len(path) < 5 and draw(st.integers(0, 3)) == 0:
            path.append(f"p{i}")
        uses = draw(st.lists(st.integers(max(-leaves, i - 40), i - 1), min_size=1, max_size=3))
        uses = [one if -leaves <= one else -1 for one in uses]
        made.append((f"{draw(st.sampled_from(NAMES))}Backward0", ".".join(path), tuple(uses)))
    return _graph(made, leaves)


def drawing_of(
    graph: Graph, fold: object = 1, options: DrawOptions = DEFAULT
) -> tuple[Folding, GraphDrawing]:
    """A graph folded and ready to be drawn."""
    folding = folding_of(graph, fold)
    assert folding is not None
    return folding, GraphDrawing(graph, options, folding)
