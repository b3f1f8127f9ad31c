from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.model import (
    Graph,
    Hook,
    Node,
    SavedTensor,
    TensorInfo,
    UnknownNodeError,
    ValueSummary,
)
from gradviz.model.columns import KEPT
from tests.each import each


def leaf_info(tensor_id: str, node_id: str, **facts: object) -> TensorInfo:
    defaults: dict[str, object] = {
        "name": None,
        "shape": (2,),
        "dtype": "float32",
        "device": "cpu",
        "requires_grad": True,
        "is_leaf": True,
        "retains_grad": False,
        "version": 0,
        "grad": None,
        "hooks": (),
        "output_nr": 0,
        "storage": "s0",
        "is_view": False,
        "is_inference": False,
    }
    return TensorInfo(id=tensor_id, node=node_id, **(defaults | facts))  # type: ignore[arg-type]


def product(device: str = "cpu", **slot: Any) -> Graph:
    saved = {
        "name": "self",
        "state": "held",
        "shape": (2,),
        "dtype": "float32",
        "device": device,
        "nbytes": 8,
        "storage": "s0",
        "storage_nbytes": 8,
        "saved_version": 0,
        "current_version": 0,
        "tensor": "t0",
    } | slot
    slots = (SavedTensor(**saved), SavedTensor("other", "none"))  # type: ignore[arg-type]
    nodes = [
        Node("n0", "MulBackward0", (("n1", 0), None, ("n1", 0)), slots, state="holds"),
        Node("n1", "AccumulateGrad", (), variable="t0", output_shapes=((2,),)),
    ]
    grad = ValueSummary((2,), "float32", (1.0, "nan"), has_nan=True)
    hooks = (Hook("tensor", "double"),)
    tensor = leaf_info("t0", "n1", name="x", grad=grad, hooks=hooks, device=device)
    return Graph.of(nodes, [("n0", 0)], [tensor])


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    count = draw(st.integers(1, 12))
    nodes: list[Node] = []
    tensors: list[TensorInfo] = []
    for i in range(count):
        later = st.integers(i + 1, count - 1) if i + 1 < count else st.nothing()
        entry = st.none() | st.tuples(later.map("n{}".format), st.integers(0, 3))
        entries = tuple(draw(st.lists(entry, max_size=4)))
        if not entries:
            tensors.append(leaf_info(f"t{len(tensors)}", f"n{i}", name=draw(st.text(max_size=5))))
            nodes.append(
                Node(f"n{i}", "AccumulateGrad", variable=tensors[-1].id, next_functions=())
            )
            continue
        attribute = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
        nodes.append(
            Node(
                f"n{i}",
                draw(st.text(max_size=8)),
                entries,
                attributes=tuple(draw(st.lists(st.tuples(st.text(max_size=3), attribute)))),
            )
        )
    return Graph.of(nodes, [("n0", 0)], tensors)


def test_edges_are_the_entries_that_are_not_none_by_source_and_slot() -> None:
    edges = product().edges
    assert [(e.source, e.target, e.slot, e.output_nr) for e in edges] == [
        ("n0", "n1", 0, 0),
        ("n0", "n1", 2, 0),
    ]


def test_leaves_are_the_variables_of_accumulators() -> None:
    assert [leaf.name for leaf in product().leaves] == ["x"]


def test_a_node_is_found_by_its_id() -> None:
    assert product()["n1"].name == "AccumulateGrad"


@each("wrong", ["n2", "t0", "n01", "", "n-1", 0])
def test_an_unknown_id_says_which_ids_there_are(wrong: object) -> None:
    with pytest.raises(UnknownNodeError, match="run from 'n0' to 'n1'"):
        product()[wrong]  # type: ignore[index]


def test_a_tensor_is_found_by_id_and_by_name() -> None:
    graph = product()
    assert graph.tensor("t0") is graph.tensor("x")
    with pytest.raises(UnknownNodeError, match="it has: x"):
        graph.tensor("y")


def test_shared_storage_is_counted_once() -> None:
    twice = SavedTensor("self", "held", storage="s0", storage_nbytes=8)
    other = SavedTensor("other", "held", storage="s1", storage_nbytes=5)
    graph = Graph.of([Node("n0", "MulBackward0", (), (twice, twice, other))], [("n0", 0)])
    assert graph.saved_bytes == 13


def test_counts_name_every_kind() -> None:
    assert product().counts == {
        "nodes": 2,
        "edges": 2,
        "none edges": 1,
        "roots": 1,
        "leaves": 1,
        "tensors": 1,
        "nodes holds": 1,
        "nodes saves nothing": 1,
        "saved held": 1,
        "saved none": 1,
    }


@each(
    "fault",
    [{"state": "freed"}, {"saved_version": 1}, {"current_version": 1}, {"tensor": None}],
)
def test_graphs_that_differ_in_one_fact_are_not_equal(fault: dict[str, Any]) -> None:
    assert product() == product()
    assert product() != product(**fault)


def test_a_graph_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="cannot be changed"):
        product().nodes = ()  # type: ignore[misc, assignment]


def test_json_differs_between_devices_in_the_header_only() -> None:
    cpu, cuda = product("cpu").to_json(), product("cuda:0").to_json()
    assert cuda.replace('"device":"cuda:0"', '"device":"cpu"', 1) == cpu
    assert Graph.from_json(cuda) == product("cuda:0")


def test_json_of_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="not a 'gradviz graph 1' document"):
        Graph.from_json("{}")


def test_a_graph_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(product())) == product()


@given(graphs())
def test_json_round_trip_keeps_every_graph(graph: Graph) -> None:
    text = graph.to_json()
    again = Graph.from_json(text)
    assert again == graph
    assert again.to_json() == text
    assert list(again.nodes) == list(graph.nodes)
    assert hash(again) == hash(graph)


def test_ids_must_rise_and_may_leave_gaps() -> None:
    with pytest.raises(ValueError, match="must rise"):
        Graph.of([Node("n1", "X", ()), Node("n0", "Y", ())], [("n1", 0)])
    with pytest.raises(ValueError, match="not the id of a node"):
        Graph.of([Node("n01", "X", ())], [])
    graph = Graph.of([Node("n1", "X", (("n4", 0),)), Node("n4", "Y", ())], [("n1", 0)])
    assert graph["n4"].name == "Y"
    assert graph.roots == (("n1", 0),)
    assert graph.edges[0].target == "n4"
    assert Graph.from_json(graph.to_json()) == graph
    with pytest.raises(UnknownNodeError, match="run from 'n1' to 'n4'"):
        graph["n2"]
    with pytest.raises(ValueError, match="not in this graph"):
        Graph.of([Node("n0", "X", (("n7", 0),))], [("n0", 0)])


def chain(nodes: int) -> Graph:
    following = [(f"n{i + 1}", 0) for i in range(nodes - 1)]
    made = [Node(f"n{i}", "SinBackward0", (entry,)) for i, entry in enumerate([*following, None])]
    return Graph.of(made, [("n0", 0)])


def test_what_is_made_of_a_graph_is_made_once() -> None:
    graph = chain(3)
    for name in ("nodes", "edges", "roots", "leaves"):
        assert getattr(graph, name) is getattr(graph, name)
    assert graph.nodes[1] is graph["n1"]
    assert list(graph.nodes)[1] is graph.nodes[:2][1] is graph["n1"]
    counts = graph.counts
    counts["nodes"] = 0  # a dictionary of one's own each time: nobody changes the graph
    assert graph.counts["nodes"] == 3


def test_a_large_graph_does_not_keep_the_nodes_that_were_looked_at() -> None:
    graph = chain(KEPT + 1)
    assert graph["n5"] is not graph["n5"]
    assert graph["n5"] == graph["n5"]
