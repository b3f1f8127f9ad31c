"""Pictures of recordings with many nodes: folded, at every step what the flat picture shows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import nn

import gradviz
from gradviz.analysis.fold.step_totals import folded_steps
from gradviz.model.fold import Fold, FoldTotals, FoldTree
from gradviz.model.graph import Graph
from gradviz.model.recording import Recording
from gradviz.view.animation.animation import Animations
from gradviz.view.animation.played_scenes import PlayedScenes
from gradviz.view.documents.recording import recording_document
from gradviz.view.graph.options import DEFAULT
from gradviz.view.graph.step_pictures import StepPictures
from gradviz.view.widgets.player import Player


class Block(nn.Module):
    def __init__(self, size: int, kind: int) -> None:
        super().__init__()
        self.norm, self.kind = nn.LayerNorm(size), kind
        self.inner = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.inner(self.norm(x))
        y = y.view(y.shape).t().t() if self.kind % 2 else torch.sin(y) * torch.cos(x)
        return x + y


class Model(nn.Module):
    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        kinds = torch.randint(0, 4, (3 + int(torch.randint(0, 3, (), generator=generator)),))
        self.blocks = nn.ModuleList(Block(4, int(kind)) for kind in kinds)
        self.head = nn.Linear(4, 3, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def recorded(seed: int) -> Recording:
    """A training step; of some seeds two of them, one partly frozen."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    model = Model(generator)
    if seed % 3 == 1:
        model.blocks[0].requires_grad_(False)
    x = torch.randn(2, 4)
    with gradviz.record() as recording:
        for _ in range(2 if seed % 3 == 2 else 1):
            loss = model(x).square().sum()
            loss.backward(retain_graph=seed % 2 == 1)
    return recording


SEEDS = range(3)
RECORDINGS = {seed: recorded(seed) for seed in SEEDS}


def marks(look: Any) -> frozenset[str]:
    """What a step says of a card: that it is new, runs now, ran, was freed."""
    return frozenset(look.classes) & {"gv-now", "gv-next", "gv-done", "gv-made", "gv-freed"}


def nodes_in(pictures: StepPictures, step: int) -> dict[str, tuple[frozenset[str], str]]:
    """The cards of nodes that exist at a step, in whatever fold, with their marks and words."""
    found = {}
    at: dict[str, int] = {}
    known = pictures.scenes.fold_ids
    for changes in pictures.changes_of(known)[: step + 1]:
        at.update(changes)
    for key, number in at.items():
        look = pictures.looks_of(known)[key][number]
        if look is not None and key.startswith("gv-n") and "data-id" in look.attributes:
            found[key] = marks(look), look.text("aria-label")
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_unfolded_it_has_the_cards_of_the_flat_picture_with_their_marks(seed: int) -> None:
    recording = RECORDINGS[seed]
    animations = Animations(recording)
    assert animations.folding
    scenes = PlayedScenes(recording, DEFAULT, ["full"])
    list(scenes.play())
    flat = scenes.cards["full"]
    folded = animations["full"]
    for step in range(len(recording.records)):
        expected = {}
        for key, variants in flat.items():
            looks = (look for at, look in reversed(variants.changes) if at <= step)
            card = next(looks, None)
            if card is not None and key[0] == "n":
                status = {f"gv-{card.status}"} if card.status else set()
                css = (set(card.css.split()) | status) & {
                    "gv-now",
                    "gv-next",
                    "gv-done",
                    "gv-made",
                    "gv-freed",
                }
                expected[f"gv-{key}"] = frozenset(css), card.aria
        assert nodes_in(folded, step) == expected


@pytest.mark.parametrize(
    "seed", [SEEDS[0], *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in SEEDS[1:])]
)
def test_a_box_of_several_nodes_runs_while_one_of_them_runs(seed: int) -> None:
    animations = Animations(RECORDINGS[seed])
    boxes = animations.scenes.source.boxes.members
    assert boxes
    for step in range(len(RECORDINGS[seed].records)):
        apart, together = nodes_in(animations["full"], step), nodes_in(animations["compact"], step)
        assert not {f"gv-{key}" for keys in boxes.values() for key in keys} & together.keys()
        for head, others in boxes.items():
            keys = [f"gv-{key}" for key in (head, *others)]
            runs = [bool(apart[key][0] & {"gv-now"}) for key in keys if key in apart]
            assert (f"gv-{head}" in together) == (f"gv-{head}" in apart)
            if f"gv-{head}" in together:
                assert ("gv-now" in together[f"gv-{head}"][0]) == any(runs)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_totals_of_a_box_are_those_of_its_nodes_at_the_step(seed: int) -> None:
    recording = RECORDINGS[seed]
    steps = folded_steps(recording)
    assert steps
    tree, now = steps.folding.tree, dict[str, FoldTotals]()
    for step, changes in zip(recording.all_steps, steps.totals, strict=True):
        now |= changes
        for fold in tree:
            assert counted(tree, fold, step.graph) == _numbers(now[fold.id])


def counted(tree: FoldTree, fold: Fold, graph: Graph) -> dict[str, int]:
    """The same, counted in the graph of one step."""
    ids = {tree.graph.nodes[place].id for place in tree.nodes_of(fold)}
    nodes = [node for node in graph.nodes if node.id in ids]
    leaves = {
        tree.graph.leaf_nodes[info.id]: info
        for info in graph.tensors
        if info.id in tree.graph.leaf_nodes
    }
    own = [info for node, info in leaves.items() if node in ids]
    slots = [slot for node in nodes for slot in node.saved]
    storages = {s.storage: s.storage_nbytes for s in slots if s.storage and s.storage_nbytes}
    states = Counter(slot.state for slot in slots)
    return {
        "nodes": len(nodes),
        "leaves": len(own),
        "saved_bytes": sum(storages.values()),
        "held": states["held"],
        "freed": states["freed"],
        "grads": sum(info.grad is not None for info in own),
    }


def _numbers(totals: FoldTotals) -> dict[str, int]:
    names = ("nodes", "leaves", "saved_bytes", "held", "freed", "grads")
    return {name: getattr(totals, name) for name in names}


def test_a_recording_of_few_nodes_is_not_folded() -> None:
    a = torch.tensor(2.0, requires_grad=True)
    with gradviz.record() as recording:
        (a * a).backward()
    assert recording.folded_steps is None
    assert "fold" not in recording_document(recording)


def test_the_document_has_every_inside_and_the_box_of_every_run() -> None:
    recording = RECORDINGS[2]
    document = recording_document(recording)
    fold = document["fold"]
    ids = {one["id"] for one in fold["folds"]}
    for insides in fold["insides"].values():
        assert {*ids, ""} == insides.keys()
    elements = document["pictures"]["compact"]["elements"]
    for inside in fold["insides"]["compact"].values():
        for shape in (*inside["cards"], *inside["links"]):
            assert f"gv-{shape['id']}" in elements
    assert document["runs"]
    assert all(run["fold"] in ids for run in document["runs"])
    homes = {item["id"]: item["fold"] for item in document["views"][-1]["items"].values() if item}
    assert set(homes.values()) <= {*ids, ""}


def test_a_still_picture_is_folded_too() -> None:
    player = Player(RECORDINGS[0], step="backward")
    svg = player._svg().decode()
    assert 'class="gv-fold gv-open"' in svg
    assert player.filmstrip([1, -1])._repr_svg_().count("gv-fold") > 2
    assert player.animation_file(".svg", ["backward", -1])


def a_loop(turns: int) -> Recording:
    """Turns of training of two models against each other."""
    torch.manual_seed(0)
    gen = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
    critic = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    noise = torch.randn(2, 4)
    with gradviz.record() as recording:
        for _ in range(turns):
            made = gen(noise)
            loss = critic(noise).mean() + critic(made).mean()
            loss.backward()
    return recording


def test_of_a_recorded_loop_each_turn_is_open_while_it_runs() -> None:
    recording = a_loop(3)
    fold = recording_document(recording)["fold"]
    label = {one["id"]: one["label"] for one in fold["folds"]}
    opened = [[label[key] for key in ids] for _, ids in fold["current"]]
    turns = [[one for one in labels if one.startswith("turn ")] for labels in opened]
    assert turns == [[f"turn {k} of 3"] for k in (1, 2, 3)]
    assert not any(label[key].startswith("turn ") for key in fold["opened"])
    for _, ids in fold["current"]:
        above = {one["above"] for one in fold["folds"] if one["id"] in ids}
        assert above <= {*ids, *fold["opened"]}
    places = [step for step, _ in fold["current"]]
    assert places[0] == 0
    assert places == sorted(places)
    graph = recording.graph_at(places[1])
    assert len(recording.graph_at(places[1] - 1)) < len(graph)


def test_of_a_recording_without_a_loop_no_turn_is_current() -> None:
    assert recording_document(recorded(0))["fold"]["current"] == []
