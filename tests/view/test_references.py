"""Tensors that many nodes use have one card, and a reference beside each node but the first."""

from __future__ import annotations

from typing import get_args
from xml.etree import ElementTree as ET

import pytest
import torch
from hypothesis import given

import gradviz
from gradviz.model import Graph, Node, Recording
from gradviz.view.export.dot import to_dot
from gradviz.view.graph.card_parts import DENSITIES, Density
from gradviz.view.graph.drawing import draw
from gradviz.view.graph.layout import Direction
from gradviz.view.graph.options import DrawOptions
from tests.view.crossings import crossings, curves
from tests.view.graphs import graphs, often_used, picture, tensor
from tests.view.recordings import Script, animation_of
from tests.view.test_drawing import by_class, parsed
from tests.view.test_random_graphs import MANY


def edges(root: ET.Element) -> dict[str, tuple[str, str, str]]:
    """What each edge says of itself: node, leaf or node that it leads to, place."""
    return {
        e.get("id", ""): (
            e.get("data-source", ""),
            e.get("data-target", ""),
            e.get("data-slot", ""),
        )
        for e in by_class(root, "gv-edge")
    }


def entries(graph: Graph) -> dict[str, tuple[str, str, str]]:
    return {f"gv-{e.source}.{e.slot}": (e.source, e.target, str(e.slot)) for e in graph.edges}


def refer(root: ET.Element) -> list[tuple[str | None, ...]]:
    names = ("id", "data-id", "data-tensor", "aria-label")
    return [tuple(e.get(name) for name in names) for e in by_class(root, "gv-ref")]


def test_the_card_is_beside_the_first_use_and_references_beside_the_others() -> None:
    root = parsed(draw(often_used()))
    assert refer(root) == [
        ("gv-n4.ref.n0", "n4", "t0", "reference to w"),
        ("gv-n4.ref.n1", "n4", "t0", "reference to w"),
        ("gv-n4.ref.n2", "n4", "t0", "reference to w"),
        ("gv-t1.ref.n0", "t1", None, "reference to mask"),
        ("gv-t1.ref.n1", "t1", None, "reference to mask"),
        ("gv-t1.ref.n2", "t1", None, "reference to mask"),
    ]
    assert len([e for e in root if e.get("data-id") == "n4" and e.get("id") == "gv-n4"]) == 1


@pytest.mark.parametrize("times", [1, 2])
def test_two_uses_are_joined_to_the_card_itself(times: int) -> None:
    assert refer(parsed(draw(often_used(times)))) == []


def test_uses_by_one_node_are_one_use() -> None:
    nodes = [
        Node("n0", "MulBackward0", (("n1", 0), ("n2", 0))),
        Node("n1", "MulBackward0", (("n2", 0), ("n2", 0))),
        Node("n2", "AccumulateGrad", (), variable="t0"),
    ]
    assert refer(parsed(draw(Graph.of(nodes, [("n0", 0)], [tensor(0, "w")])))) == []


def test_both_edges_of_a_node_join_one_reference() -> None:
    square = tuple(Node(f"n{i}", "MulBackward0", (("n4", 0), ("n4", 0))) for i in range(3))
    add = Node("n3", "StackBackward0", (("n0", 0), ("n1", 0), ("n2", 0)))
    leaf = Node("n4", "AccumulateGrad", (), variable="t0")
    graph = Graph.of([*square, add, leaf], [("n3", 0)], [tensor(0, "w")])
    root = parsed(draw(graph))
    assert [own_id for own_id, *_ in refer(root)] == ["gv-n4.ref.n1", "gv-n4.ref.n2"]
    assert edges(root) == entries(graph)


@MANY
@given(graphs())
def test_every_edge_still_says_which_node_and_leaf_it_joins(graph: Graph) -> None:
    assert edges(parsed(draw(graph))) == entries(graph)


@pytest.mark.parametrize("direction", get_args(Direction))
def test_a_weight_used_in_a_long_chain_crosses_nothing(direction: Direction) -> None:
    drawn = picture(often_used(12), DrawOptions.of(direction, hide=["constants"]))
    assert len([e for e in drawn.inside if "gv-ref" in e.classes]) == 11
    assert crossings(curves([*drawn.inside])) == 0


def test_dot_has_the_edges_of_torch() -> None:
    dot = to_dot(often_used())
    assert ".ref." not in dot
    assert dot.count("\tn4 -> ") == 4


def test_long_names_are_shortened_and_said_in_full() -> None:
    graph = often_used()
    named = tensor(0, "model.layers.attention.weight", node="n4")
    root = parsed(draw(Graph.of(graph.nodes, graph.roots, [named, graph.tensors[1]])))
    reference = by_class(root, "gv-ref")[0]
    assert reference.get("aria-label") == "reference to model.layers.attention.weight"
    assert reference[0].text == "model.layers.attention.weight"
    assert "…" in "".join(reference[-1].itertext())


def chain(passes: int, stay: bool) -> Recording:
    """A loop whose passes make a node that uses ``w``; the nodes of earlier passes may stay."""
    script = Script("\n".join(f"y{i} = w * {i}" for i in range(passes)))
    leaf = Node("n9", "AccumulateGrad", (), variable="t0")
    script.step("start", None, tensor(0, "w", node="n9"), leaf)
    for i in range(passes):
        node = Node(f"n{i}", "MulBackward0", (("n9", 0), None), arguments=("self", "other"))
        gone = (f"n{i - 1}",) if i and not stay else ()
        script.step("line", i + 1, node, gone=gone, roots=((f"n{i}", 0),))
    script.step("line", passes, tensor(0, "v", node="n9"))
    return script.end()


def test_a_reference_of_a_recording_exists_while_the_node_uses_the_tensor() -> None:
    animation = animation_of(chain(4, stay=True))
    there = [[key for key in animation.there(step) if ".ref." in key] for step in range(6)]
    assert there == [
        [], [], ["gv-n9.ref.n1"], ["gv-n9.ref.n1", "gv-n9.ref.n2"],
        ["gv-n9.ref.n1", "gv-n9.ref.n2", "gv-n9.ref.n3"],
        ["gv-n9.ref.n1", "gv-n9.ref.n2", "gv-n9.ref.n3"],
    ]  # fmt: skip


def test_a_reference_has_the_name_of_its_step_and_a_fixed_place() -> None:
    animation = animation_of(chain(3, stay=True))
    drawn = [animation.there(step)["gv-n9.ref.n1"] for step in (2, 3, 4)]
    assert [e.text("aria-label") for e in drawn] == [*["reference to w"] * 2, "reference to v"]
    assert len({e.text("transform") for e in drawn}) == 1


def test_passes_that_have_one_place_are_joined_to_the_card() -> None:
    animation = animation_of(chain(4, stay=False))
    assert [key for key in animation.elements if ".ref." in key] == []


def test_edges_of_a_recording_say_which_leaf_they_lead_to_at_every_step() -> None:
    recording = chain(4, stay=True)
    animation = animation_of(recording)
    for step in recording.all_steps:
        assert edges(parsed(animation.svg(step.index))) == entries(step.graph)


@pytest.mark.parametrize("density", DENSITIES)
def test_a_cell_that_is_called_again_and_again_has_few_crossings(density: Density) -> None:
    torch.manual_seed(0)
    cell = torch.nn.RNNCell(2, 3)
    with gradviz.record() as recording:
        h = torch.zeros(1, 3)
        for x in torch.randn(5, 1, 2):
            h = cell(x, h)
        h.pow(2).sum().backward()
    animation = animation_of(recording, DrawOptions(density=density))
    most = max(range(len(recording.records)), key=lambda step: len(animation.there(step)))
    drawn = [*animation.there(most).values()]
    shown = [e.text("data-tensor").split() for e in drawn if "gv-ref" in e.classes]
    assert sum(map(len, shown)) == 16  # of two leaves or of one each
    assert crossings(curves(drawn)) <= 3
    assert animation.size[0] < 2000
