"""What is said of a fold: numbers of all that is in it, and each number once."""

from __future__ import annotations

from gradviz.analysis.fold.folding import folding_of
from gradviz.model import Graph, Node
from gradviz.model.fold import Fold
from gradviz.view.fold_facts import FoldFacts
from gradviz.view.fold_words import title
from gradviz.view.whole_index import WholeIndex
from tests.view.folds import blocks
from tests.view.graphs import tensor


def facts_of(graph: Graph) -> tuple[FoldFacts, list[Fold]]:
    folding = folding_of(graph, 1)
    assert folding is not None
    return FoldFacts(folding, WholeIndex(graph)), list(folding.tree)


def test_a_repeat_says_the_totals_of_all_its_parts() -> None:
    facts, folds = facts_of(blocks(4))
    repeat = next(fold for fold in folds if fold.kind == "repeat")
    assert (facts.counts(repeat), facts.elements(repeat)) == ("21 nodes", "15 elements")
    rows = dict(facts.rows(repeat))
    assert rows["parts"] == "4, equal, but for the first or last"
    assert (rows["nodes"], rows["leaves"], rows["elements"]) == ("21", "5", "15")


def test_equal_parts_say_how_many_nodes_each_has() -> None:
    nodes = [Node(f"n{i}", "SinBackward0", ((f"n{i + 1}", 0),)) for i in range(99)]
    last = Node("n99", "CosBackward0", (None,))
    facts, folds = facts_of(Graph.of([*nodes, last], [("n0", 0)]))
    repeat = next(fold for fold in folds if fold.kind == "repeat")
    assert facts.counts(repeat) == "99 nodes"
    parts = dict(facts.rows(repeat))["parts"]
    assert parts == "99, each of 1 node beside leaves, equal structure"


def test_many_leaves_say_how_many_they_are_once() -> None:
    leaves = [Node(f"n{i + 1}", "AccumulateGrad", (), variable=f"t{i}") for i in range(14)]
    stack = Node("n0", "StackBackward0", tuple((leaf.id, 0) for leaf in leaves))
    tensors = [tensor(i, f"w{i}", node=f"n{i + 1}", shape=(5,)) for i in range(14)]
    graph = Graph.of([stack, *leaves], [("n0", 0)], tensors)
    facts, folds = facts_of(graph)
    fold = next(fold for fold in folds if fold.kind == "leaves")
    folding = folding_of(graph, 1)
    assert folding is not None
    assert title(folding.tree, fold) == "14 leaves"
    assert (facts.counts(fold), facts.elements(fold)) == ("70 elements", "")
