"""The inside of one fold: a card per member, links between them and over the rim."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradviz.model import Graph, Node
from gradviz.model.fold import Fold
from gradviz.view.element import classes_of
from gradviz.view.graph.card_parts import DENSITIES, Density
from gradviz.view.graph.fold_scenes import PORTS, Insides
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.scene import ALL as BOX
from tests.view.folds import blocks, drawing_of, folded_graphs
from tests.view.graphs import often_used, saved, tensor

COMPACT: Density = "compact"


def texts(element: Any) -> str:
    """All text of an element."""
    parts = (one if isinstance(one, str) else texts(one) for one in element.children)
    return " ".join(" ".join(filter(None, parts)).split())


def card_of(drawing: Any, fold_id: str, density: Density = COMPACT) -> Any:
    """The closed box of a fold."""
    above = drawing.tree.above(fold_id)
    inside = drawing[density].inside(above.id if above else BOX)
    assert fold_id in {card.id for card in inside.cards}
    key = above.id if above else BOX
    return drawing[density].looks_of([key])[f"gv-{fold_id}"][0]


@settings(max_examples=40)
@given(folded_graphs(), st.sampled_from(DENSITIES))
def test_every_member_is_in_one_card_and_every_entry_inside_of_one_or_one_way(
    graph: Graph, density: Density
) -> None:
    """Nothing of the graph is lost: each entry of next_functions is inside of one card, or it is
    one link, or one chain of links from fold to fold, in the insides together."""
    folding, drawing = drawing_of(graph)
    tree = folding.tree
    box: dict[str, str] = {}
    entries = Counter[tuple[str, int]]()
    for fold in tree:
        inside = drawing[density].inside(fold.id)
        own = {one.id: one.card.others for one in inside.cards if not one.card.refers}
        keys = [m.id if isinstance(m, Fold) else graph.nodes[m].id for m in fold.members]
        assert sorted(key for card, others in own.items() for key in (card, *others)) == sorted(
            keys
        )
        assert len(own) == (tree.cards(fold) if density != "full" else len(fold.members))
        box |= {key: card for card, others in own.items() for key in (card, *others)}
        rim = Insides(tree).rim(fold.id)
        assert len(inside.inputs) == rim.input_ports <= PORTS
        assert len(inside.outputs) == rim.output_ports <= PORTS
        for wire in (link.wire for link in inside.links):
            assert wire.slot is None or wire.entries == ((wire.source, wire.slot),)
            if graph.place_of(wire.link.head) is not None:
                assert wire.count == len(wire.entries)
                entries.update(wire.entries)
    for node in graph.nodes:
        for slot, entry in enumerate(node.next_functions):
            entries[node.id, slot] += entry is not None and box[entry[0]] == box[node.id]
            assert entries[node.id, slot] == (entry is not None), (node.id, slot)


def test_equal_insides_are_the_same_drawing_but_for_names() -> None:
    _, drawing = drawing_of(blocks(5))
    tree = drawing.tree
    same = [fold for fold in tree if fold.path.endswith(".mlp")]
    drawn = [drawing[COMPACT].inside(fold.id) for fold in same]
    assert len(drawn) > 2
    assert len({(one.height, len(one.cards), one.outputs) for one in drawn[1:-1]}) == 1


def test_a_closed_box_says_what_is_in_it() -> None:
    graph = blocks(4)
    _, drawing = drawing_of(graph)
    words = texts(card_of(drawing, drawing.tree.root.id))
    assert f"{len(graph)} nodes" in words
    assert "23 nodes · 15 elements" in words


def test_a_repeat_is_a_stack_that_names_its_ends_and_their_number() -> None:
    _, drawing = drawing_of(blocks(6))
    repeat = next(fold for fold in drawing.tree if fold.kind == "repeat")
    card = card_of(drawing, repeat.id)
    assert "gv-stack" in classes_of([card])
    assert f"×{repeat.times}" in texts(card)
    assert "…" in texts(card)


def test_problems_inside_are_seen_from_outside() -> None:
    nodes = [
        Node("n0", "SumBackward0", (("n1", 0),)),
        Node(
            "n1",
            "ExpBackward0",
            (("n2", 0),),
            state="holds",
            module="net",
            saved=(saved("result", "modified", saved_version=0, current_version=1),),
        ),
        Node("n2", "SinBackward0", (None,), module="net"),
    ]
    _, drawing = drawing_of(Graph.of(nodes, [("n0", 0)]))
    net = next(fold for fold in drawing.tree if fold.path == "net")
    card = card_of(drawing, net.id)
    assert "⚠ 1 saved tensor modified" in texts(card)
    assert "1 saved tensor modified" in card.text("aria-label")


def test_many_values_over_a_rim_have_one_port_with_their_number() -> None:
    count = PORTS + 4
    nodes = [Node("n0", "StackBackward0", tuple((f"n{i + 1}", 0) for i in range(count)))]
    nodes += [
        Node(f"n{i + 1}", "SinBackward0", ((f"n{count + 1}", 0),), module="net")
        for i in range(count)
    ]
    nodes.append(Node(f"n{count + 1}", "AccumulateGrad", (), variable="t0"))
    graph = Graph.of(nodes, [("n0", 0)], [tensor(0, "w", node=f"n{count + 1}")])
    _, drawing = drawing_of(graph)
    inside = drawing[COMPACT].inside("f0")
    net = next(fold for fold in drawing.tree.root.folds)
    (link,) = [one for one in inside.links if one.tail[0] == net.id]
    assert (link.tail, link.head, link.wire.count) == ((net.id, 0), ("n0", 0), count)
    assert len(drawing[COMPACT].inside(net.id).outputs) == 1


def test_a_tensor_outside_the_graph_is_drawn_where_it_is_saved() -> None:
    graph = often_used()
    folding, drawing = drawing_of(graph)
    savers = {folding.tree.around(node)[-1].id for node in ("n0", "n1", "n2", "n3")}
    for fold in folding.tree:
        inside = drawing[COMPACT].inside(fold.id)
        masks = [card for card in inside.cards if (card.card.refers or card.id) == "t1"]
        assert bool(masks) == (fold.id in savers)
    assert "t1" not in {
        card.card.refers or card.id
        for fold in folding.tree
        for card in drawing_of(graph, 1, DrawOptions.of(hide=["constants"]))[1][COMPACT]
        .inside(fold.id)
        .cards
    }


def test_a_node_with_the_views_of_its_inputs_is_one_card() -> None:
    nodes = [
        Node("n0", "MmBackward0", (("n1", 0), ("n3", 0)), arguments=("self", "mat2")),
        Node("n1", "TBackward0", (("n2", 0),)),
        Node("n2", "ViewBackward0", (("n4", 0),)),
        Node("n3", "SinBackward0", (None,)),
        Node("n4", "AccumulateGrad", (), variable="t0"),
    ]
    folding, drawing = drawing_of(Graph.of(nodes, [("n0", 0)], [tensor(0, "w", node="n4")]))
    assert folding.tree.root.folds == ()
    (card,) = (one for one in drawing.scenes.scene("f0", COMPACT).cards if one.id == "n0")
    assert [line.text for one in card.blocks for line in one.lines] == ["@"]
    assert card.title == "MmBackward0 + ViewBackward0 + TBackward0"
    cards = {
        density: {one.id: one.others for one in drawing.scenes.scene("f0", density).cards}
        for density in DENSITIES
    }
    assert cards["compact"] == cards["normal"] == {"n0": ("n2", "n1"), "n3": (), "n4": ()}
    assert cards["full"] == dict.fromkeys(("n0", "n1", "n2", "n3", "n4"), ())


@pytest.mark.parametrize("density", ["compact", "normal", "full"])
def test_parameters_are_rows_where_there_is_room(density: Density) -> None:
    nodes = [
        Node("n0", "SumBackward0", (("n1", 0),)),
        Node("n1", "AddmmBackward0", (("n2", 0), ("n4", 0)), module="fc"),
        Node("n2", "AccumulateGrad", (), variable="t0"),
        Node("n3", "AccumulateGrad", (), variable="t1"),
        Node("n4", "MulBackward0", (("n3", 0),), module="fc"),
    ]
    tensors = [
        tensor(0, "fc.bias", shape=(3,), node="n2"),
        tensor(1, "fc.weight", shape=(3, 4), node="n3"),
    ]
    _, drawing = drawing_of(Graph.of(nodes, [("n0", 0)], tensors))
    fc = next(fold for fold in drawing.tree if fold.path == "fc")
    words = texts(card_of(drawing, fc.id, density))
    rows = "weight (3, 4) .grad None" in words and "bias (3,) .grad None" in words
    assert rows == (density != "compact")
    assert ("15 elements" in words) == (density == "compact")
