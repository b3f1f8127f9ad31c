from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gradviz.model import Graph, Hook
from gradviz.view.documents.graph import graph_document
from gradviz.view.graph.drawing import draw
from gradviz.view.outlines.graph import outline
from tests.view.graphs import every_mark, product_and_sum, rows_of


def with_node(graph: Graph, number: int, **facts: Any) -> Graph:
    nodes = list(graph.nodes)
    nodes[number] = replace(nodes[number], **facts)
    return Graph.of(nodes, graph.roots, graph.tensors)


def with_slot(graph: Graph, number: int, place: int, **facts: Any) -> Graph:
    slots = list(graph.nodes[number].saved)
    slots[place] = replace(slots[place], **facts)
    return with_node(graph, number, saved=tuple(slots))


def with_tensor(graph: Graph, number: int, **facts: Any) -> Graph:
    tensors = list(graph.tensors)
    tensors[number] = replace(tensors[number], **facts)
    return Graph.of(graph.nodes, graph.roots, tensors)


FAULTS: dict[str, Callable[[Graph], Graph]] = {
    "edge lost": lambda g: with_node(g, 1, next_functions=(("n3", 0), None)),
    "entry lost": lambda g: with_node(g, 1, next_functions=(("n3", 0),)),
    "edge to another node": lambda g: with_node(g, 1, next_functions=(("n3", 0), ("n2", 0))),
    "operands swapped": lambda g: with_node(g, 1, next_functions=(("n4", 0), ("n3", 0))),
    "output number wrong": lambda g: with_node(g, 0, next_functions=(("n1", 1), ("n2", 0))),
    "root wrong": lambda g: Graph.of(g.nodes, [("n1", 0)], g.tensors),
    "root output wrong": lambda g: Graph.of(g.nodes, [("n0", 1)], g.tensors),
    "node name wrong": lambda g: with_node(g, 1, name="DivBackward0"),
    "node freed": lambda g: with_node(g, 1, state="freed"),
    "node opaque": lambda g: with_node(g, 0, state="opaque"),
    "slot freed": lambda g: with_slot(g, 1, 0, state="freed"),
    "slot modified": lambda g: with_slot(g, 1, 0, state="modified"),
    "slot not needed": lambda g: with_slot(g, 1, 0, state="none"),
    "slots swapped": lambda g: with_node(g, 1, saved=g.nodes[1].saved[::-1]),
    "saved version off by one": lambda g: with_slot(g, 1, 0, saved_version=1),
    "current version off by one": lambda g: with_slot(g, 1, 0, current_version=1),
    "saved shape wrong": lambda g: with_slot(g, 1, 0, shape=(1,)),
    "saved tensor wrong": lambda g: with_slot(g, 1, 0, tensor="t0"),
    "saved name wrong": lambda g: with_slot(g, 1, 0, name="result"),
    "argument wrong": lambda g: with_node(g, 1, arguments=("other", "self")),
    "shape of an argument wrong": lambda g: with_node(g, 4, output_shapes=((2,),)),
    "number wrong": lambda g: with_node(g, 0, attributes=(("alpha", 2),)),
    "source wrong": lambda g: with_node(g, 1, source="out1 = a + b"),
    "module wrong": lambda g: with_node(g, 1, module="block.1"),
    "version off by one": lambda g: with_tensor(g, 0, version=1),
    "requires_grad flipped": lambda g: with_tensor(g, 0, requires_grad=False),
    "is_leaf flipped": lambda g: with_tensor(g, 0, is_leaf=False),
    "is_leaf of a non-leaf flipped": lambda g: with_tensor(g, 4, is_leaf=True),
    "retains_grad lost": lambda g: with_tensor(g, 4, retains_grad=False),
    "retains_grad added": lambda g: with_tensor(g, 3, retains_grad=True),
    "output number of a tensor wrong": lambda g: with_tensor(g, 4, output_nr=1),
    "is_view flipped": lambda g: with_tensor(g, 3, is_view=True),
    "is_inference flipped": lambda g: with_tensor(g, 3, is_inference=True),
    "requires_grad of a non-leaf flipped": lambda g: with_tensor(g, 3, requires_grad=False),
    "value wrong": lambda g: with_tensor(g, 0, values=(2.5,)),
    "grad lost": lambda g: with_tensor(g, 2, grad=None),
    "shape wrong": lambda g: with_tensor(g, 0, shape=(1,)),
    "dtype wrong": lambda g: with_tensor(g, 0, dtype="float64"),
    "name wrong": lambda g: with_tensor(g, 0, name="z"),
    "name lost": lambda g: with_tensor(g, 0, name=None),
    "hook lost": lambda g: with_tensor(g, 4, hooks=()),
    "hook of another name": lambda g: with_tensor(g, 4, hooks=(Hook("tensor", "triple"),)),
    "memory shared": lambda g: with_tensor(g, 0, storage="s4"),
    "output shapes lost": lambda g: with_node(with_tensor(g, 4, node=None), 1, output_shapes=()),
}


def test_fault_in_a_graph_changes_picture_outline_and_table(subtests: pytest.Subtests) -> None:
    right = product_and_sum()
    told = (outline(right), draw(right), rows_of(right), graph_document(right)["items"])
    for name, fault in FAULTS.items():
        with subtests.test(name):
            wrong = fault(right)
            assert outline(wrong) != told[0]
            assert draw(wrong) != told[1]
            assert rows_of(wrong) != told[2]
            assert graph_document(wrong)["items"] != told[3]


def test_a_fault_in_torchs_formula_changes_the_details() -> None:
    wrong = with_node(product_and_sum(), 1, formula="self: grad\nother: grad")
    assert graph_document(wrong)["items"] != graph_document(product_and_sum())["items"]


def test_each_state_of_a_saved_tensor_looks_and_reads_different(subtests: pytest.Subtests) -> None:
    for place in [0, 1]:
        for state in ["held", "modified", "freed", "packed"]:
            with subtests.test(place=place, state=state):
                graph = every_mark()
                changed = with_slot(graph, 0, place, state=state)
                same = changed == graph
                assert (draw(changed) == draw(graph)) == same
                assert (outline(changed) == outline(graph)) == same


def test_whether_hooks_are_known_is_said() -> None:
    known = with_node(product_and_sum(), 1, hooks_unknown=False)
    assert outline(known) != outline(product_and_sum())
    assert graph_document(known)["items"] != graph_document(product_and_sum())["items"]
