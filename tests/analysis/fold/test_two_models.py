"""Programs with several models: each call of a model is a fold, and two models are never one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given
from torch import Tensor, nn
from torch.nn import functional

import gradviz
from gradviz.analysis.fold.module_paths import kin, parts_of
from gradviz.analysis.fold.tree import fold_tree
from gradviz.model.fold import Fold, FoldTree
from gradviz.view.fold_words import title
from tests.analysis.fold.forwards import Forward, forwards
from tests.analysis.fold.test_tree import nodes_in, quick


class Net(nn.Module):
    """Layers with activations between them."""

    def __init__(self, *widths: int) -> None:
        super().__init__()
        layers = [nn.Linear(a, b) for a, b in pairwise(widths)]
        activations = [nn.ReLU() for _ in layers]
        self.net = nn.Sequential(*[one for pair in zip(layers, activations) for one in pair][:-1])

    def forward(self, x: Tensor) -> Any:
        return self.net(x)


def stack(*widths: int) -> nn.Module:
    return Net(*widths)


def row(*widths: int) -> nn.Module:
    return Net(*widths).net


def gan(steps: int, gen: nn.Module, critic: nn.Module) -> FoldTree:
    """The graph of all steps in which two models are trained against each other."""
    torch.manual_seed(0)
    noise, real = torch.randn(4, 8), torch.randn(4, 4)
    of_gen = torch.optim.SGD(gen.parameters(), lr=0.1)
    of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
    with gradviz.record() as recording:
        for _ in range(steps):
            made = gen(noise)
            right = functional.softplus(-critic(real)).mean()
            loss = right + functional.softplus(critic(made.detach())).mean()
            of_critic.zero_grad()
            loss.backward()
            of_critic.step()
            loss = functional.softplus(-critic(made)).mean()
            of_gen.zero_grad()
            loss.backward()
            of_gen.step()
    return fold_tree(recording.graph)


def titles(tree: FoldTree, fold: Fold) -> list[str]:
    return [title(tree, one) for one in fold.folds if one.kind != "leaves"]


def calls(kind: str) -> list[str]:
    critic = f"critic · {kind}"
    return [
        *(f"gen · {kind}", critic, "Neg, Softplus, Mean"),
        *(critic, "Softplus, Mean, Add"),
        *(critic, "Neg, Softplus, Mean"),
    ]


@pytest.mark.parametrize(("make", "kind"), [(stack, "Net"), (row, "Sequential")])
def test_each_call_of_a_model_is_a_fold_with_its_name(make: Any, kind: str) -> None:
    tree = gan(1, make(8, 16, 16, 4), make(4, 16, 16, 1))
    assert titles(tree, tree.root) == calls(kind)


@pytest.mark.parametrize(("make", "kind"), [(stack, "Net"), (row, "Sequential")])
@pytest.mark.parametrize("steps", [2, 3])
def test_turns_of_a_loop_are_numbered_and_hold_the_models(steps: int, make: Any, kind: str) -> None:
    tree = gan(steps, make(8, 16, 16, 4), make(4, 16, 16, 1))
    assert titles(tree, tree.root) == [f"gen, critic ×{steps}"]
    (loop,) = tree.root.folds
    assert titles(tree, loop) == [f"turn {turn} of {steps}" for turn in range(1, steps + 1)]
    for turn in loop.folds:
        if turn.kind != "leaves":
            assert titles(tree, turn) == calls(kind)


def leaves_in(tree: FoldTree, fold: Fold) -> int:
    return sum(tree.graph.variables[place] is not None for place in nodes_in(fold))


def test_leaves_are_in_the_first_call_of_their_model() -> None:
    tree = gan(1, row(8, 16, 16, 4), row(4, 16, 16, 1))
    calls = [one for one in tree.root.folds if one.kind == "module"]
    assert [(one.path, leaves_in(tree, one)) for one in calls] == [
        ("gen", 6),
        ("critic", 6),
        ("critic", 0),
        ("critic", 0),
    ]
    layer = next(one for one in tree if one.path == "critic.0")
    assert leaves_in(tree, layer) == 2


def test_leaves_of_a_loop_are_beside_its_turns() -> None:
    tree = gan(3, row(8, 16, 16, 4), row(4, 16, 16, 1))
    (loop,) = tree.root.folds
    counts = {one.kind: leaves_in(tree, one) for one in loop.folds}
    assert counts == {"leaves": 12, "turn": 0}


def test_a_weight_of_two_modules_is_beside_both() -> None:
    first, second = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
    second.weight = first.weight
    graph = gradviz.snapshot((second(first(torch.randn(4, 4)).relu()) * first.weight).sum())
    tree = fold_tree(graph)
    assert [graph.variables[place] is not None for place in tree.root.places].count(True) == 1


def test_turns_of_long_loops_are_numbered_in_parts_too() -> None:
    tree = gan(30, row(8, 4), row(4, 16, 1))
    (loop,) = tree.root.folds
    assert titles(tree, loop) == [
        f"turns {a} … {b} of 30" for a, b in ((1, 12), (13, 24), (25, 30))
    ]
    assert titles(tree, loop.folds[-1])[-1] == "turn 30 of 30"


def test_equal_models_one_after_the_other_are_no_repeat() -> None:
    first, second, third = (row(8, 8, 8, 8) for _ in range(3))
    loss = third(second(first(torch.randn(2, 8)))).sum()
    tree = fold_tree(gradviz.snapshot(loss))
    assert titles(tree, tree.root) == [
        f"{name} · Sequential" for name in ("first", "second", "third")
    ]
    net1, net2, net3 = first, second, third
    del first, second, third
    tree = fold_tree(gradviz.snapshot(net3(net2(net1(torch.randn(2, 8)))).sum()))
    assert titles(tree, tree.root) == [f"net{number} · Sequential" for number in (1, 2, 3)]


def test_calls_of_one_model_right_after_each_other_are_its_calls() -> None:
    net = row(8, 8, 8, 8, 8)
    loss = functional.cosine_similarity(net(torch.randn(2, 8)), net(torch.randn(2, 8))).sum()
    tree = fold_tree(gradviz.snapshot(loss))
    both = tree.root.folds[0]
    assert title(tree, both) == "net ×2 · Sequential"
    assert titles(tree, both) == ["net · Sequential", "net · Sequential"]
    assert [title(tree, one.folds[0]) for one in both.folds if one.kind == "module"] == [
        "net.0 … net.6 ×4 · Linear, Relu"
    ] * 2


def test_models_in_a_list_are_a_repeat() -> None:
    nets = [row(8, 8, 8, 8) for _ in range(3)]
    x = torch.randn(2, 8)
    for net in nets:
        x = net(x)
    del net
    tree = fold_tree(gradviz.snapshot(x.sum()))
    assert titles(tree, tree.root) == ["nets[0] … nets[2] ×3 · Sequential"]


def test_a_turn_of_a_module_and_other_nodes_is_not_called_by_the_module_alone() -> None:
    tree = gan(1, row(8, 16, 16, 16, 4), row(4, 16, 16, 1))
    (layers,) = next(one for one in tree.root.folds if one.path == "gen").folds
    assert titles(tree, layers) == [
        "gen.0 · Linear, Relu",
        "gen.2 · Linear, Relu",
        "gen.4 · Linear, Relu",
        "gen.6 · Linear",
    ]


@quick
@given(forwards())
def test_every_model_is_a_fold_of_its_own(forward: Forward) -> None:
    graph = forward.graph()
    tree = fold_tree(graph)
    for place in graph.order:
        path = graph.makers[place]
        if path:
            around = tree.around(graph.nodes[place].id)
            is_alone = not any(graph.targets[place])
            model = parts_of(path)[0]
            uses = [entry for entry in graph.targets[place] if entry is not None]
            has_leaves = any(graph.variables[entry[0]] is not None for entry in uses)
            assert is_alone or not has_leaves or any(one.path == model for one in around)


@quick
@given(forwards())
def test_no_repeat_has_modules_of_two_models(forward: Forward) -> None:
    tree = fold_tree(forward.graph())
    for fold in tree:
        if fold.times:
            modules = [one for one in fold.folds if one.kind == "module" and nodes_in(one)]
            assert len({kin(one.path) for one in modules}) <= 1
