from __future__ import annotations

from pathlib import Path

import torch

import gradviz.view.outlines.graph
from gradviz.model import Graph
from gradviz.view.documents.graph import graph_document
from gradviz.view.graph_index import GraphIndex
from gradviz.view.outlines.graph import LIMIT, outline, outline_of
from tests.view.graphs import chain, every_mark, product_and_sum, rows_of


def test_text_of_a_graph_is_its_outline_which_is_that_of_its_document() -> None:
    assert gradviz.view.outlines.graph is not None
    for graph in (product_and_sum(), every_mark()):
        assert str(graph) == outline(graph) == graph_document(graph)["text"]


def test_device_is_in_the_first_line_only() -> None:
    on_cpu, on_cuda = (outline(product_and_sum(device)).split("\n") for device in ("cpu", "cuda:0"))
    assert on_cuda[0] == on_cpu[0].replace("cpu", "cuda:0")
    assert on_cuda[1:] == on_cpu[1:]


def test_of_a_very_large_graph_print_lists_every_node_and_a_notebook_stores_the_first_ones() -> (
    None
):
    graph = chain(LIMIT + 5)
    ids = [node.id for node in graph.nodes]
    assert [line.split(" ")[0] for line in str(graph).split("\n") if line[0] == "n"] == ids
    stored = outline_of(GraphIndex.of(graph, 0), LIMIT).split("\n")
    assert [line.split(" ")[0] for line in stored if line[0] == "n"] == ids[:LIMIT]
    assert stored[-1] == "… 5 more nodes not listed; print(gradviz.snapshot(…)) lists all"


def test_table_has_a_row_for_each_node_and_tensor() -> None:
    assert list(rows_of(every_mark())) == [
        *("n0", "n1", "n2", "t1", "n3", "t4", "n4"),
        *("t2", "t3"),
    ]


def test_graph_without_nodes_has_an_outline() -> None:
    assert outline(Graph.of([], [])) == "empty autograd graph: 0 nodes, 0 edges, 0 leaves"


def test_a_saved_tensor_without_a_name_has_its_values() -> None:
    text = outline(gradviz.snapshot((2 * torch.ones(2, requires_grad=True)).exp()))
    assert "   saved other = 2: held () int64 v0 8 B in s1" in text
    assert "   saved result: held" not in text


def test_cards_have_values_of_saved_tensors_without_a_name_unless_values_are_hidden(
    tmp_path: Path,
) -> None:
    w = torch.ones(2, requires_grad=True)
    graph = gradviz.snapshot((2 * w).exp() * w, names={"w": w})
    gradviz.show(graph, hide=["values"]).save(tmp_path / "values.svg")
    gradviz.show(graph).save(tmp_path / "all.svg")
    shown, hidden = ((tmp_path / f"{name}.svg").read_text() for name in ("all", "values"))
    for words in (">other = 2<", ">self = [7.389, 7.389]<"):
        assert words in shown
        assert words not in hidden
    assert "other = w" in shown
