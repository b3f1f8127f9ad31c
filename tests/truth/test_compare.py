from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import gradviz
from gradviz import Node, TensorInfo
from tests.each import each
from tests.programs import named
from tests.truth.compare import check

NodeFault = Callable[[Node], Node]
TensorFault = Callable[[TensorInfo], TensorInfo]


def slot(**changes: Any) -> NodeFault:
    return lambda node: replace(node, saved=(replace(node.saved[0], **changes), *node.saved[1:]))


NODE_FAULTS: dict[str, NodeFault] = {
    "edge lost": lambda n: replace(n, next_functions=(None, *n.next_functions[1:])),
    "operands swapped": lambda n: replace(n, next_functions=n.next_functions[::-1]),
    "output number": lambda n: replace(n, next_functions=(("n1", 1), *n.next_functions[1:])),
    "name": lambda n: replace(n, name="DivBackward0"),
    "state": lambda n: replace(n, state="freed"),
    "output shape": lambda n: replace(n, output_shapes=((7,),)),
    "attribute lost": lambda n: replace(n, attributes=()),
    "slot lost": lambda n: replace(n, saved=n.saved[1:]),
    "saved freed": slot(state="freed"),
    "saved modified": slot(state="modified"),
    "saved version": slot(saved_version=5),
    "current version": slot(current_version=5),
    "saved shape": slot(shape=(7,)),
    "saved dtype": slot(dtype="float16"),
    "saved storage": slot(storage="s77"),
    "saved is another tensor": slot(tensor="t0"),
    "saved is no known tensor": slot(tensor=None),
}
TENSOR_FAULTS: dict[str, TensorFault] = {
    "requires_grad": lambda t: replace(t, requires_grad=not t.requires_grad),
    "is_leaf": lambda t: replace(t, is_leaf=not t.is_leaf),
    "retains_grad": lambda t: replace(t, retains_grad=not t.retains_grad),
    "version": lambda t: replace(t, version=9),
    "shape": lambda t: replace(t, shape=(7,)),
    "grad": lambda t: replace(t, grad=gradviz.ValueSummary((2,), "float32")),
    "hook": lambda t: replace(t, hooks=(gradviz.Hook("tensor", "f"),)),
    "node": lambda t: replace(t, node="n0"),
    "storage": lambda t: replace(t, storage="s1" if t.storage == "s0" else "s0"),
}


@each("fault", NODE_FAULTS)
def test_a_fault_in_a_node_is_seen(fault: str) -> None:
    built = named("two_products").build()
    graph = gradviz.snapshot(*built.outputs, names=built.names)
    check(graph, built.outputs, built.names)
    at = 0 if fault in ("attribute lost", "output number") else 1
    nodes = list(graph.nodes)
    nodes[at] = NODE_FAULTS[fault](nodes[at])
    assert nodes[at] != graph.nodes[at]
    wrong = gradviz.Graph.of(nodes, graph.roots, graph.tensors)
    with pytest.raises((AssertionError, KeyError)):
        check(wrong, built.outputs, built.names)


@each("name", ["a", "out1"])
@each("fault", TENSOR_FAULTS)
def test_a_fault_in_a_tensor_is_seen(fault: str, name: str) -> None:
    built = named("two_products").build()
    graph = gradviz.snapshot(*built.outputs, names=built.names)
    right = graph.tensor(name)
    tensors = [TENSOR_FAULTS[fault](t) if t is right else t for t in graph.tensors]
    wrong = gradviz.Graph.of(list(graph.nodes), graph.roots, tensors)
    with pytest.raises((AssertionError, KeyError)):
        check(wrong, built.outputs, built.names)
