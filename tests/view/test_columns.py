"""Where parameters are: in columns beside boxes, or inside of them where columns do not fit."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import torch
from torch import nn

import gradviz
from gradviz.model import Recording
from gradviz.view.animation.animation import Animations
from gradviz.view.graph.card_parts import Card
from gradviz.view.graph.extent import STAGE
from gradviz.view.graph.options import DEFAULT
from gradviz.view.graph.placing import PlacedCard
from gradviz.view.graph.scene import ALL, WholeScenes, saving_of
from gradviz.view.graph.step_pictures import StepPictures
from gradviz.view.graph_index import GraphIndex
from tests.each import each
from tests.view.graphs import not_once_in
from tests.view.networks import NETWORKS

ROOM = (623 / 0.8, 523 / 0.8)
"""Pixels of a picture that is seen whole beside the code in a notebook, at 80 %."""


@cache
def animations(name: str) -> Animations:
    torch.manual_seed(0)
    return Animations(NETWORKS[name]())


def pictures(name: str) -> StepPictures:
    return animations(name)["compact"]


def said(card: Card) -> list[str]:
    return [line.whole for block in card.blocks for line in block.lines]


def placed(name: str) -> dict[str, PlacedCard]:
    """The cards with their places: those of steps at one place once."""
    return {card.id: card for card in pictures(name).inside(ALL).cards}


def pills(name: str) -> dict[str, str]:
    """What is beside or inside of a box, with the box."""
    scene = animations(name).scenes.scene(ALL, "compact")
    return {key: head for head, keys in scene.beside.items() for key in keys}


def test_parameters_of_one_chain_are_in_columns_at_its_right() -> None:
    there = placed("mlp")
    for key, head in pills("mlp").items():
        assert there[key].x > there[head].x + there[head].width
    width, height = pictures("mlp").size
    assert width <= STAGE[0]
    assert height <= STAGE[1]


@each("name", ["attention", "gan"])
def test_where_columns_do_not_fit_parameters_are_inside_of_their_boxes(name: str) -> None:
    there, inside = placed(name), pills(name)
    for key, head in inside.items():
        card, box = there[key], there[head]
        low, high = box.frames[0].inside
        assert box.x < card.x < card.x + card.width < box.x + box.width
        assert box.y + low <= card.y < card.y + card.height <= box.y + high
    for one, other in combinations(there.values(), 2):
        if inside.get(one.id) == other.id or inside.get(other.id) == one.id:
            continue
        is_beside = one.x + one.width <= other.x or other.x + other.width <= one.x
        is_above = one.y + one.height <= other.y or other.y + other.height <= one.y
        assert is_beside or is_above or (one.x, one.y) == (other.x, other.y)
    width, height = pictures(name).size
    assert width <= ROOM[0]
    assert height <= ROOM[1]


@each("name", ["attention", "gan", "mlp"])
def test_every_node_is_on_one_card_and_every_entry_is_one_link(name: str) -> None:
    scenes = animations(name).scenes
    assert not_once_in(scenes.scene(ALL, "compact"), scenes.recording.graph) == []
    assert not_once_in(scenes.scene(ALL, "full"), scenes.recording.graph) == []


def test_one_card_has_the_names_of_its_leaves_and_how_many_gradients_are_in() -> None:
    scenes = animations("attention").scenes
    (out,) = (
        card
        for card in scenes.scene(ALL, "compact").cards
        if len(card.others) == 1 and "net.out.weight" in card.title
    )
    assert said(out)[0] == "weight, bias"
    changes = scenes.card(out, "compact").changes
    gradients = [said(card)[1] for _, card in changes if card is not None]
    assert list(dict.fromkeys(gradients)) == [".grad None", ".grad 1 of 2", ".grad 2 of 2"]
    for name in ("net.out.weight", "net.out.bias"):
        assert name in out.title
        assert name in out.aria


def test_a_reference_is_to_all_leaves_of_a_card() -> None:
    cards = animations("gan").scenes.scene(ALL, "compact").cards
    references = [card for card in cards if card.refers and card.tensor]
    assert [said(card)[0] for card in references] == ["weight, bias"] * 4
    shown = {card.id: (card.id, *card.others) for card in cards if card.tensor and not card.refers}
    assert all((card.refers, *card.others) == shown[card.refers] for card in references)


def test_backward_is_at_the_card_of_several_leaves_until_each_has_its_gradient() -> None:
    scenes = animations("attention").scenes
    (card,) = (one for one in scenes.scene(ALL, "compact").cards if "net.out.bias" in one.title)
    statuses = [one.status for _, one in scenes.card(card, "compact").changes if one is not None]
    assert statuses[-4:] == ["now", "now", "done", ""]


def scenes_of(recording: Recording) -> WholeScenes:
    index = GraphIndex.of(recording.graph, 400)
    return WholeScenes(index, DEFAULT, saving_of(index, DEFAULT))


def leaves(scenes: WholeScenes) -> list[list[str]]:
    """The names on the cards of leaves."""
    return sorted(
        said(card)[0].split(", ") for card in scenes.scene(ALL, "compact").cards if card.tensor
    )


def test_a_leaf_of_which_something_is_said_has_a_card_of_its_own() -> None:
    net = nn.Linear(3, 2)
    with gradviz.record() as recording:
        loss = net(torch.ones(4, 3)).sum()
    assert loss is not None
    scenes = scenes_of(recording)
    scenes.put_inside(())
    assert leaves(scenes) == [["weight", "bias"]]
    for key in (recording.graph.tensor("net.bias").id, recording.graph.tensor("net.bias").node):
        scenes = scenes_of(recording)
        scenes.put_inside([str(key)])
        assert leaves(scenes) == [["bias"], ["weight"]]


def test_a_leaf_with_a_hook_has_a_card_of_its_own() -> None:
    net = nn.Linear(3, 2)
    net.bias.register_hook(lambda grad: grad)
    with gradviz.record() as recording:
        loss = net(torch.ones(4, 3)).sum()
    scenes = scenes_of(recording)
    scenes.put_inside(())
    assert leaves(scenes) == [["bias"], ["weight"]]
    assert loss is not None


def test_of_many_leaves_the_card_has_the_number() -> None:
    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for number in range(5):
                self.register_parameter(f"part{number}", nn.Parameter(torch.ones(2)))

        def forward(self) -> torch.Tensor:
            return torch.stack([*self.parameters()])

    net = Sum()
    with gradviz.record() as recording:
        loss = net().sum()
    scenes = scenes_of(recording)
    scenes.put_inside(())
    (card,) = (one for one in scenes.scene(ALL, "compact").cards if one.tensor)
    assert said(card)[0] == "5 params"
    assert all(f"part{number}" in card.title for number in range(5))
    assert loss is not None


def test_the_card_of_several_leaves_says_what_is_wrong_with_a_gradient() -> None:
    net = nn.Linear(3, 2)
    with gradviz.record() as recording:
        loss = (net(torch.ones(4, 3)) * float("nan")).sum()
        loss.backward()
    scenes = scenes_of(recording)
    scenes.put_inside(())
    (card,) = (one for one in scenes.scene(ALL, "compact").cards if one.tensor)
    assert said(card)[1] == ".grad 2 of 2 (has nan)"


def test_what_two_boxes_use_is_in_both_of_them_and_the_data_of_a_module_are_not_its_own() -> None:
    scene = animations("gan").scenes.scene(ALL, "compact")
    name = {card.id: said(card)[0] for card in scene.cards}
    inside = sorted(name[key] for keys in scene.beside.values() for key in keys)
    assert inside == sorted(["weight, bias"] * 8 + ["yes"] * 2 + ["no"])


def test_a_wide_row_without_parameters_stays_as_it_is() -> None:
    x = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        loss = torch.stack([nn.functional.softplus(x * k) for k in range(9)]).sum()
        loss.backward()
    scenes = Animations(recording).scenes
    assert not_once_in(scenes.scene(ALL, "compact"), recording.graph) == []
