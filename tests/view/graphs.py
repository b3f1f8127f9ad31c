"""Graphs made by hand, so that the tests of the picture need no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from gradviz.model import Graph, Hook, Node, SavedTensor, TensorInfo, ValueSummary
from gradviz.model.highlights import Highlight
from gradviz.view.element import Element
from gradviz.view.graph.card_parts import Density
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.graph.scene import Scene
from gradviz.view.graph_index import GraphIndex
from gradviz.view.outlines.graph import cells_of, listed

HOSTILE = (
    '"><script>alert(1)</script>',
    "]]><!-- </style></svg>",
    "&lt; &amp; &#0; '\"",
    "x" * 300,
    "שלום_עולם",
    "重み_テンソル" * 9,
    "a\nb\tc\r\x00\x1b[31m",
    "lone \ud800 surrogate",
    "over \u202e ride",
    "e" + "\u0301" * 40,
    "\\N \\l <b>bold</b> {a|b} %s ${x}",
    "<b>all</b>",
    "\ufffe\uffff\u2028",
    "onload=alert(1)",
)
"""Names that want to be markup, to overflow, to hide or to reorder."""


def rows_of(graph: Graph) -> dict[str, list[str]]:
    """The cells of the outline as a table, by node and tensor."""
    index = GraphIndex.of(graph, 0)
    return {one.id: list(cells_of(one, index)) for one in listed(index, graph.nodes)}


def picture(
    graph: Graph,
    options: DrawOptions = DEFAULT,
    marks: Iterable[Highlight] = (),
    *,
    variables: bool = True,
) -> Element:
    """A graph drawn as it is."""
    drawing = GraphDrawing(graph, options, marks=marks)
    return drawing[drawing.opening].element(variables=variables)


def scene_of(graph: Graph, density: Density | None = None) -> Scene:
    """What is in the picture of a graph that is drawn as it is."""
    drawing = GraphDrawing(graph)
    return drawing.scenes.scene("", density or drawing.opening)


def not_once(graph: Graph, density: Density = "compact") -> list[str]:
    """The nodes that are not in exactly one box, and the entries of ``next_functions`` that are not
    exactly one link, None, or inside of one box, of a graph of which all nodes are drawn."""
    return not_once_in(scene_of(graph, density), graph)


def not_once_in(scene: Scene, graph: Graph) -> list[str]:
    """The same of a scene."""
    cards = [card for card in scene.cards if not card.refers]
    box = {key: card.id for card in cards for key in (card.id, *card.others)}
    boxes = Counter(key for card in cards for key in (card.id, *card.others))
    entries = Counter(entry for wire in scene.wires for entry in wire.entries)
    nodes = {node.id: node for node in graph.nodes}
    inside = [
        (node.id, slot)
        for node in graph.nodes
        for slot, entry in enumerate(node.next_functions)
        if entry is None or box.get(entry[0]) == box.get(node.id)
    ]
    entries.update(inside)
    there = {(key, slot) for key, node in nodes.items() for slot in range(len(node.next_functions))}
    wrong = [f"node {key}: {boxes[key]} boxes" for key in nodes if boxes[key] != 1]
    wrong += [f"entry {one}: {entries[one]} times" for one in there if entries[one] != 1]
    return wrong + [f"entry {one} is none" for one in entries.keys() - there]


def tensor(number: int, name: str | None = None, **facts: Any) -> TensorInfo:
    defaults: dict[str, Any] = {
        "shape": (),
        "dtype": "float32",
        "device": "cpu",
        "requires_grad": True,
        "is_leaf": True,
        "retains_grad": False,
        "version": 0,
        "grad": None,
        "hooks": (),
        "node": None,
        "output_nr": 0,
        "storage": f"s{number}",
        "is_view": False,
        "is_inference": False,
    }
    return TensorInfo(id=f"t{number}", name=name, **(defaults | facts))


def saved(name: str, state: Any = "held", **facts: Any) -> SavedTensor:
    if state in ("freed", "none", "packed"):
        return SavedTensor(name, state, **facts)
    defaults: dict[str, Any] = {
        "shape": (),
        "dtype": "float32",
        "device": "cpu",
        "nbytes": 4,
        "storage": "s0",
        "storage_nbytes": 4,
        "saved_version": 0,
        "current_version": 0 if state == "held" else 1,
    }
    return SavedTensor(name, state, **(defaults | facts))


def product_and_sum(device: str = "cpu") -> Graph:
    """``out1 = a * b; loss = out1 + c``"""
    on = {"device": device}
    return Graph.of(
        [
            Node(
                "n0",
                "AddBackward0",
                (("n1", 0), ("n2", 0)),
                arguments=("self", "other"),
                output_shapes=((),),
                formula="self: grad\nother: maybe_multiply(grad, alpha.conj())",
                attributes=(("alpha", 1),),
            ),
            Node(
                "n1",
                "MulBackward0",
                (("n3", 0), ("n4", 0)),
                saved=(
                    saved("other", tensor="t1", storage="s1", **on),
                    saved("self", tensor="t0", **on),
                ),
                arguments=("self", "other"),
                output_shapes=((),),
                state="holds",
                hooks=(Hook("tensor", "double"),),
                formula="self: grad * other\nother: grad * self",
                source="out1 = a * b",
                module="block.0",
            ),
            Node(
                "n2", "AccumulateGrad", (), variable="t2", output_shapes=((),), hooks_unknown=False
            ),
            Node("n3", "AccumulateGrad", (), variable="t0", output_shapes=((),)),
            Node("n4", "AccumulateGrad", (), variable="t1", output_shapes=((),)),
        ],
        [("n0", 0)],
        [
            tensor(0, "a", node="n3", values=(2.0,), **on),
            tensor(1, "b", node="n4", values=(3.0,), **on),
            tensor(2, "c", node="n2", grad=ValueSummary((), "float32", (1.0,)), **on),
            tensor(3, "loss", node="n0", is_leaf=False, values=(7.0,), **on),
            tensor(
                4,
                "out1",
                node="n1",
                is_leaf=False,
                retains_grad=True,
                hooks=(Hook("tensor", "double"),),
                **on,
            ),
        ],
    )


def every_mark() -> Graph:
    """One of each: all states of nodes and pockets, a stub, outputs, a constant, shared memory."""
    nodes = [
        Node("n0", "MulBackward0", (("n1", 0), None), arguments=("self", "other"), state="holds",
             saved=(saved("other", tensor="t2"), saved("self", "modified", shape=(2,)))),
        Node("n1", "StackBackward0", (("n2", 0), ("n3", 0), ("n2", 1)), state="opaque"),
        Node("n2", "UnbindBackward0", (("n4", 0),), output_shapes=((2,), (2,)), state="freed",
             saved=(saved("self", "freed"), saved("weight", "none"))),
        Node("n3", "ExpBackward0", (("n4", 0),), state="packed",
             saved=(saved("result", "packed", packed_by="unpack"),)),
        Node("n4", "AccumulateGrad", (), variable="t0", hooks=(Hook("tensor", "clip"),)),
    ]  # fmt: skip
    tensors = [
        tensor(0, "w", node="n4", shape=(2, 2), hooks=(Hook("tensor", "clip"),)),
        tensor(1, "row", node="n2", is_leaf=False, output_nr=1, storage="s0", is_view=True),
        tensor(2, "k", requires_grad=False, dtype="float64", values=(1.0,)),
        tensor(3, "unreached"),
        tensor(4, "other_root", node="n3", is_leaf=False),
    ]
    return Graph.of(nodes, [("n0", 0), ("n3", 0), ("n2", 1)], tensors)


def chain(length: int, name: str = "SinBackward0") -> Graph:
    """A chain of nodes that ends in a leaf."""
    nodes = [Node(f"n{i}", name, ((f"n{i + 1}", 0),)) for i in range(length - 1)]
    nodes.append(Node(f"n{length - 1}", "AccumulateGrad", (), variable="t0"))
    return Graph.of(nodes, [("n0", 0)], [tensor(0, "x", node=f"n{length - 1}")])


def often_used(times: int = 4) -> Graph:
    """``h * w`` again and again, each time with a mask from outside saved."""
    masked = (saved("mask", tensor="t1"),)
    nodes = [
        Node(f"n{i}", "MulBackward0", ((f"n{i + 1}", 0), (f"n{times}", 0)), state="holds",
             arguments=("self", "other"), saved=masked)
        for i in range(times - 1)
    ]  # fmt: skip
    nodes.append(Node(f"n{times - 1}", "ExpBackward0", ((f"n{times}", 0),), saved=masked))
    nodes.append(Node(f"n{times}", "AccumulateGrad", (), variable="t0"))
    mask = tensor(1, "mask", requires_grad=False)
    return Graph.of(nodes, [("n0", 0)], [tensor(0, "w", node=f"n{times}"), mask])


def named(graph: Graph, name: str) -> Graph:
    """The same graph with every name in it replaced."""
    nodes = [
        replace(
            node,
            name=node.name if node.name == "AccumulateGrad" else name,
            saved=tuple(replace(s, name=name, packed_by=s.packed_by and name) for s in node.saved),
            hooks=tuple(replace(h, name=name) for h in node.hooks),
            arguments=tuple(name for _ in node.arguments),
            attributes=tuple((name, name) for _ in node.attributes),
            formula=f"{name}: {name}",
            source=name,
            module=name,
        )
        for node in graph.nodes
    ]
    tensors = [
        replace(t, name=name, dtype=name, device=name if t.id == "t0" else "cpu",
                hooks=tuple(replace(h, name=name) for h in t.hooks))
        for t in graph.tensors
    ]  # fmt: skip
    return Graph.of(nodes, graph.roots, tensors)


TEXT = st.one_of(
    st.sampled_from(HOSTILE), st.text(max_size=60), st.sampled_from(["w", "layer.weight"])
)
NUMBER = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-9, 9),
    st.sampled_from(["nan", "-inf"]),
)


@st.composite
def graphs(draw: st.DrawFn, most: int = 12) -> Graph:
    """Any graph without cycles, with any names and any mixture of states."""
    size = draw(st.integers(1, most))
    tensors: list[TensorInfo] = []

    def make_tensor(node: str | None, is_leaf: bool, output_nr: int = 0) -> str:
        tensors.append(
            tensor(
                len(tensors),
                draw(st.none() | TEXT),
                shape=tuple(draw(st.lists(st.integers(0, 9), max_size=3))),
                dtype=draw(st.sampled_from(["float32", "float64", "int64"])),
                device=draw(st.sampled_from(["cpu", "cuda:0"])),
                requires_grad=node is not None or draw(st.booleans()),
                is_leaf=is_leaf,
                node=node,
                output_nr=output_nr,
                version=draw(st.none() | st.integers(0, 3)),
                storage=draw(st.none() | st.sampled_from(["s0", "s1", "s2"])),
                retains_grad=draw(st.booleans()),
                values=draw(st.none() | st.lists(NUMBER, max_size=8).map(tuple)),
                hooks=tuple(draw(st.lists(st.builds(Hook, st.just("tensor"), TEXT), max_size=2))),
            )
        )
        return tensors[-1].id

    nodes = []
    for i in range(size):
        if draw(st.booleans()) and i:
            nodes.append(Node(f"n{i}", "AccumulateGrad", (), variable=make_tensor(f"n{i}", True)))
            continue
        later = st.tuples(st.integers(i + 1, size - 1).map("n{}".format), st.integers(0, 3))
        entries = st.none() | later if i + 1 < size else st.none()
        following = tuple(draw(st.lists(entries, max_size=8)))
        if draw(st.booleans()):
            make_tensor(f"n{i}", False, draw(st.integers(0, 2)))
        states = st.sampled_from(["held", "modified", "freed", "packed", "none"])
        outside = make_tensor(None, True) if draw(st.booleans()) else None
        slots = [saved(draw(TEXT), draw(states)) for _ in range(draw(st.integers(0, 8)))]
        nodes.append(
            Node(
                f"n{i}",
                draw(st.sampled_from(["MulBackward0", "SinBackward0"]) | TEXT),
                following,
                saved=tuple(slots) + ((saved("kept", tensor=outside),) if outside else ()),
                arguments=tuple(draw(st.none() | TEXT) for _ in following)
                if draw(st.booleans())
                else (),
                state=draw(
                    st.sampled_from(["holds", "freed", "saves nothing", "packed", "opaque"])
                ),
                formula=draw(st.none() | TEXT),
                source=draw(st.none() | TEXT),
            )
        )
    return Graph.of(nodes, [("n0", draw(st.integers(0, 2)))], tensors)
