from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from gradviz.model import Graph
from gradviz.view.documents.graph import LARGE, graph_document, graph_json, legend
from tests.view.documents import stored
from tests.view.graphs import HOSTILE, chain, every_mark, named, product_and_sum

GRAPHS = {
    "product_and_sum": product_and_sum(),
    "every_mark": every_mark(),
    "hostile": named(every_mark(), HOSTILE[0]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_wire_is_the_stored_one(name: str, check_golden: Callable[[str, str], None]) -> None:
    check_golden(f"wire/{name}.json", stored(graph_document(GRAPHS[name])))


@pytest.mark.parametrize("graph", [*GRAPHS.values(), chain(420)], ids=[*GRAPHS, "chain of 420"])
def test_items_refer_to_items(graph: Graph) -> None:
    items = {item["id"]: item for item in graph_document(graph)["items"]}
    for item in items.values():
        assert {*item["next"], *item["prev"]} <= set(items)
        for other in item["next"]:
            assert item["kind"] == "tensor" or item["id"] in items[other]["prev"]


def test_kinds_are_node_leaf_and_tensor() -> None:
    kinds = {item["id"]: item["kind"] for item in graph_document(every_mark())["items"]}
    assert (kinds["n0"], kinds["n4"], kinds["t1"], kinds["t2"]) == (
        "node",
        "leaf",
        "tensor",
        "tensor",
    )


def test_legend_has_only_what_the_picture_contains() -> None:
    small = {entry["class"] for entry in graph_document(product_and_sum())["legend"]}
    large = {entry["class"] for entry in graph_document(every_mark())["legend"]}
    assert small == {"gv-root", "gv-leaf", "gv-node", "gv-held", "gv-tag", "gv-edge", "gv-hook"}
    assert {"gv-freed", "gv-packed", "gv-opaque", "gv-modified", "gv-stub", "gv-uses"} <= large
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


def test_details_tell_what_torch_does_not_list() -> None:
    items = {item["id"]: item for item in graph_document(product_and_sum())["items"]}
    rows = {section["heading"]: dict(section["rows"]) for section in items["n1"]["details"]}
    assert rows["MulBackward0"]["hooks"] == "hook double, others not known"
    assert rows["saved tensors"]["self"] == "a, held, v0, shape (), float32, 4 B, storage s0 of 4 B"
    assert rows["gradient"] == {"self": "grad × other", "other": "grad × self"}
    assert rows["torch's formula"] == {"self": "grad * other", "other": "grad * self"}
