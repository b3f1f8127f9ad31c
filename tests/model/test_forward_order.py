"""The order of a forward: as torch counted, as far as edges allow it."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.model import Graph
from gradviz.model.records import ModuleInfo, Node
from tests.analysis.fold.forwards import Forward, forwards
from tests.each import each


def position(graph: Graph) -> dict[int, int]:
    return {place: number for number, place in enumerate(graph.order)}


def assert_is_an_order(graph: Graph) -> None:
    at = position(graph)
    made = [place for place, leaf in enumerate(graph.variables) if leaf is None]
    assert sorted(at) == made
    for place in made:
        for entry in graph.targets[place]:
            assert entry is None or at.get(entry[0], -1) < at[place]


def reordered(graph: Graph, order: list[str] | None) -> Graph:
    return Graph.of(graph.nodes, graph.roots, graph.tensors, graph.modules, order)


@given(forwards(), st.integers(0, 99))
def test_a_known_order_is_kept_in_json_too_and_others_are_as_edges_allow(
    forward: Forward, seed: int
) -> None:
    graph = forward.graph()
    assert [graph.names[place] for place in graph.order] == [name for name, _, _ in forward.made]
    assert_is_an_order(reordered(graph, None))
    of_threads = [graph.nodes[place].id for place in graph.order]
    random.Random(seed).shuffle(of_threads)
    assert_is_an_order(reordered(graph, of_threads))
    again = Graph.from_json(graph.to_json())
    assert again.to_json() == graph.to_json()
    assert list(again.order) == list(graph.order)
    assert again.modules == graph.modules


def test_an_order_that_edges_tell_is_not_written() -> None:
    forward = Forward()
    forward.node("Sin", forward.node("Cos", None))
    assert "order" not in json.loads(forward.graph().to_json())


def damaged(change: Any) -> str:
    forward = Forward()
    forward.path = "net"
    late = forward.node("Sin", forward.leaf("w"))
    early = forward.node("Cos", None)
    forward.node("Mul", early, late)
    document = json.loads(forward.graph().to_json())
    assert document["order"] == ["n2", "n1", "n0"]
    assert document["modules"] == [{"path": "net", "type": "Part", "tensors": ["t0"]}]
    document.update(change)
    return json.dumps(document)


@each(
    ("change", "place"),
    [
        ({"order": ["n2", "n1"]}, "order"),
        ({"order": ["n2", "n1", "n1"]}, "order"),
        ({"order": ["n2", "n1", "n3"]}, "order"),
        ({"order": ["n2", "n1", "n9"]}, "order"),
        ({"order": [2, 1, 0]}, "order"),
        ({"order": "n2"}, "order"),
        ({"modules": [{"path": "net", "type": "Part", "tensors": ["t9"]}]}, "modules"),
        ({"modules": [{"path": 3, "type": "Part", "tensors": []}]}, "modules"),
        ({"modules": [{"type": "Part", "tensors": []}]}, "modules"),
        ({"modules": {}}, "modules"),
    ],
)
def test_a_damaged_document_is_refused_with_the_place(change: Any, place: str) -> None:
    with pytest.raises(ValueError, match=place):
        Graph.from_json(damaged(change))


def test_a_graph_that_runs_in_a_circle_has_all_nodes_in_its_order() -> None:
    nodes = [Node("n0", "Sin", (("n1", 0),)), Node("n1", "Cos", (("n0", 0),))]
    assert sorted(Graph.of(nodes, [("n0", 0)], order=["n0", "n1"]).order) == [0, 1]


def test_graphs_that_differ_in_their_modules_differ() -> None:
    nodes = [Node("n0", "Sin", (None,))]
    one = Graph.of(nodes, [("n0", 0)], modules=[ModuleInfo("net", "Net")])
    assert one != Graph.of(nodes, [("n0", 0)])
    assert one == Graph.of(nodes, [("n0", 0)], modules=[ModuleInfo("net", "Net")])
