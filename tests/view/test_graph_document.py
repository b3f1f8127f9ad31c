from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from gradviz.model import Graph
from gradviz.view.documents.graph import LARGE, graph_document, graph_json, legend
from tests.view.documents import check_document
from tests.view.graphs import HOSTILE, chain, every_mark, named, product_and_sum

GRAPHS = {
    "product_and_sum": product_and_sum(),
    "every_mark": every_mark(),
    "hostile": named(every_mark(), HOSTILE[0]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_wire_is_the_stored_one(name: str, check_golden: Callable[[str, str], None]) -> None:
    check_document(check_golden, f"wire/{name}", graph_document(GRAPHS[name]))


@pytest.mark.parametrize("graph", [*GRAPHS.values(), chain(420)], ids=[*GRAPHS, "chain of 420"])
def test_items_refer_to_items(graph: Graph) -> None:
    items = {item["id"]: item for item in graph_document(graph)["items"]}
    for item in items.values():
        assert {*item["next"], *item["prev"]} <= set(items)
        for other in item["next"]:
            assert item["kind"] == "tensor" or item["id"] in items[other]["prev"]


def test_legend_has_only_what_the_picture_contains() -> None:
    assert legend(set()) == []
    assert [entry["class"] for entry in legend({"gv-freed", "gv-pin", "gv-else"})] == [
        "gv-freed",
        "gv-hook",
    ]


def test_json_of_the_graph_travels_while_the_document_is_small() -> None:
    wire = graph_document(product_and_sum())
    assert Graph.from_json(wire["json"]) == product_and_sum()
    assert "json" not in graph_document(product_and_sum(), room=1000)
    assert "json" not in graph_document(chain(420))
    assert len(json.dumps(wire)) < LARGE


def test_json_with_a_lone_surrogate_reads_back() -> None:
    graph = named(product_and_sum(), "lone \ud800")
    assert Graph.from_json(graph_json(graph).encode().decode()) == graph
