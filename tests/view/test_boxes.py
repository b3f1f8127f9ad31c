"""Several nodes in one box: what a person wrote as one operation, and nothing is lost."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import given, settings
from torch import Tensor, nn

import gradviz
from gradviz.analysis.fold.folding import folding_of
from gradviz.model import Graph
from gradviz.model.highlights import Highlight
from gradviz.view.animation.played_scenes import PlayedScenes
from gradviz.view.boxes import Boxes
from gradviz.view.graph.card_parts import DENSITIES
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.graph.options import DEFAULT
from gradviz.view.graph.scene import LIMIT
from tests.each import each
from tests.programs import PROGRAMS, Program
from tests.view.graphs import graphs, not_once, scene_of


def boxes(graph: Graph) -> dict[str, list[str]]:
    """The names of the nodes in each box of several, by that of the node it is called by."""
    return {
        graph[head].name: [graph[key].name for key in keys]
        for head, keys in Boxes.of(graph).members.items()
    }


def beside(graph: Graph) -> dict[str, list[str]]:
    """What is beside each card, from above, by their titles."""
    scene = scene_of(graph, "compact")
    title = {card.id: card.blocks[0].lines[0].text for card in scene.cards}
    return {title[key]: [title[one] for one in keys] for key, keys in scene.beside.items()}


def ones(*sizes: int) -> Tensor:
    return torch.ones(*sizes, requires_grad=True)


@each("program", [one for one in PROGRAMS if not one.is_slow])
def test_every_node_is_in_one_box_and_every_entry_is_inside_of_one_or_one_link(
    program: Program,
) -> None:
    built = program.build()
    graph = gradviz.snapshot(*built.outputs, names=built.names)
    for density in DENSITIES if len(graph) <= LIMIT else ():
        assert not_once(graph, density) == []


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_of_any_graph_nothing_is_lost_and_nothing_is_drawn_twice(graph: Graph) -> None:
    assert not_once(graph) == []


def test_views_between_two_products_are_in_the_box_of_one_of_them() -> None:
    q, k, v = ones(2, 5, 8), ones(2, 5, 8), ones(2, 5, 8)
    scores = q @ k.transpose(1, 2)
    out = scores @ v
    graph = gradviz.snapshot(out.sum())
    assert {graph[key].name for key in Boxes.of(graph).members} == {"BmmBackward0"}
    names = {card.blocks[0].lines[0].text for card in scene_of(graph, "compact").cards}
    assert names == {"q", "k", "v", "@", "sum"}


def test_a_view_that_a_person_named_of_a_named_tensor_has_a_box_of_its_own() -> None:
    x = ones(2, 3)
    doubled = 2 * x
    flat = doubled.view(6)
    assert boxes(gradviz.snapshot(flat.sum(), names={"doubled": doubled, "flat": flat})) == {}
    flat = (2 * x).view(6)
    assert boxes(gradviz.snapshot(flat.sum(), names={"flat": flat})) == {
        "MulBackward0": ["ViewBackward0"]
    }


def test_a_view_that_two_nodes_use_or_that_has_a_hook_has_a_box_of_its_own() -> None:
    w = ones(3, 2)
    turned = w.t()
    both = turned @ ones(3, 1) + (turned * 2).sum()
    del turned
    assert boxes(gradviz.snapshot(both.sum())) == {}
    turned = w.t()
    turned.register_hook(lambda grad: grad)
    assert boxes(gradviz.snapshot((turned @ ones(3, 1)).sum(), names={"turned": turned})) == {}


def test_cross_entropy_is_one_box_that_says_how_many_nodes_it_is() -> None:
    logits, target = ones(4, 3), torch.zeros(4, dtype=torch.long)
    graph = gradviz.snapshot(nn.functional.cross_entropy(logits, target))
    (card,) = (card for card in scene_of(graph, "compact").cards if card.others)
    said = [line.whole for block in card.blocks for line in block.lines]
    assert said[:2] == ["cross entropy", "NllLossBackward0 +1"]
    assert all("LogSoftmaxBackward0" in words for words in (card.title, card.aria))
    # It has the saved tensors of both.
    assert {tab.data_id.partition(".")[0] for tab in card.tabs} == {card.id, *card.others}
    named = nn.functional.log_softmax(logits, 1)
    apart = gradviz.snapshot(nn.functional.nll_loss(named, target), names={"named": named})
    assert boxes(apart) == {}


def test_the_full_density_has_a_card_for_each_node() -> None:
    graph = gradviz.snapshot(
        nn.functional.cross_entropy(nn.Linear(3, 2)(ones(4, 3)), torch.zeros(4).long())
    )
    titles = [card.blocks[0].lines[0].text for card in scene_of(graph, "full").cards]
    assert {"TBackward0", "LogSoftmaxBackward0", "NllLossBackward0"} <= {*titles}


def test_parameters_are_beside_the_box_of_their_module_and_data_are_above_it() -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1))
    with gradviz.record() as recording:
        x = torch.ones(4, 3)
        y = net(x)
        loss = y.sum()
    found = beside(recording.graph)
    assert found == {"Linear": ["weight", "bias"]}
    assert loss is not None


def test_what_is_joined_to_a_later_card_alone_is_beside_it() -> None:
    x, w, b = ones(1), ones(1), ones(1)
    names = {"x": x, "w": w, "b": b}
    assert beside(gradviz.snapshot(torch.tanh(w * x + b), names=names)) == {"+": ["b"]}
    # A tensor of two cards is joined to both.
    assert beside(gradviz.snapshot((x * w + x).sum(), names=names)) == {"×": ["w"]}


def test_the_ports_of_a_box_are_in_the_order_of_its_arguments_and_have_their_names() -> None:
    a, b = ones(2, 3), ones(3, 2)
    p, q = a * 2, b * 3
    graph = gradviz.snapshot((p.t() - q).sum(), names={"p": p, "q": q})
    (card,) = (card for card in scene_of(graph, "normal").cards if card.others)
    wires = {w.link.head_port: w for w in scene_of(graph, "normal").wires if w.link.head == card.id}
    made = [[one.name for one in graph.tensors if one.node == wires[k].target] for k in (0, 1)]
    assert [port.label for port in card.inputs] == ["self", "other"]
    assert made == [["p"], ["q"]]


def test_what_is_said_of_one_node_is_on_a_card_of_its_own() -> None:
    logits, target = ones(4, 3), torch.zeros(4, dtype=torch.long)
    graph = gradviz.snapshot(nn.functional.cross_entropy(logits, target))
    (inner,) = (node.id for node in graph.nodes if node.name == "LogSoftmaxBackward0")
    marks = [Highlight(inner, "gone", "")]
    for folding, fold_id in ((None, ""), (folding_of(graph, 1), "f0")):
        for apart in ([], marks):
            drawing = GraphDrawing(graph, DEFAULT, folding, apart)
            cards = drawing.scenes.scene(fold_id, "compact").cards
            assert (inner in {card.id for card in cards}) == bool(apart)
            assert any(card.others for card in cards) != bool(apart)


def test_the_last_layer_of_a_model_is_not_in_the_box_of_the_loss() -> None:
    net, loss_of = nn.Sequential(nn.Linear(3, 2), nn.LogSoftmax(1)), nn.NLLLoss()
    with gradviz.record() as recording:
        loss = loss_of(net(torch.ones(4, 3)), torch.zeros(4, dtype=torch.long))
    titles = {card.blocks[0].lines[0].text for card in scene_of(recording.graph, "compact").cards}
    assert {"Linear", "LogSoftmax", "NLLLoss"} <= titles
    assert loss is not None


def test_a_computed_weight_arrives_from_above_with_the_data_and_the_first_operand_stays() -> None:
    a, b, c = ones(1), ones(1), ones(1)
    names = {"a": a, "b": b, "c": c}
    # Not beside: a minus c is not read as c minus a.
    assert beside(gradviz.snapshot((a - c) / c, names=names)) == {}
    assert beside(gradviz.snapshot((c - a) / c, names=names)) == {"-": ["a"]}


def test_a_box_has_run_once_none_of_its_nodes_runs_later() -> None:
    net, x = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1)), ones(4, 3)
    with gradviz.record() as recording:
        torch.autograd.grad(net(x).sum(), x)  # the transposes of the weights do not run
    scenes = PlayedScenes(recording, DEFAULT, ["compact"])
    list(scenes.play())
    said = {
        head: [card.status for _, card in scenes.cards["compact"][head].changes if card]
        for head in scenes.source.boxes.members
    }
    after = [one[len(one) - one[::-1].index("now") :] for one in said.values()]
    assert sorted(one[:1] for one in after) == [[], ["done"]]  # the last one of all ends it


def test_a_graph_of_many_rows_has_one_line_a_card() -> None:
    def rows(count: int) -> list[int]:
        x: Any = ones(1)
        for _ in range(count):
            x = x.sin()
        cards = scene_of(gradviz.snapshot(x), "compact").cards
        return [len(card.blocks) for card in cards if card.blocks[0].lines[0].text == "sin"][1:]

    assert {*rows(5)} == {2}
    assert {*rows(6)} == {1}
