"""Folds of calls: each call of a module is one, and a title names what its fold covers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

import gradviz
from gradviz.analysis.fold.folding import folding_of
from gradviz.analysis.fold.opening import opened
from gradviz.analysis.fold.tree import fold_tree
from gradviz.model import Recording
from gradviz.model.fold import Fold, FoldTree
from gradviz.view.fold_facts import FoldFacts, kind_of
from gradviz.view.fold_words import title, title_alone
from gradviz.view.whole_index import WholeIndex
from tests.each import each


def x() -> Tensor:
    return torch.ones(2, 4)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, given: Tensor) -> Any:
        return given + self.b(self.a(given).relu())


class Own(nn.Module):
    """Uses its parameter in an operation of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(4, 4))

    def forward(self, given: Tensor) -> Tensor:
        return given @ self.w


class InOrder(nn.Module):
    """Calls its modules in an order."""

    def __init__(self, inside: Sequence[nn.Module], order: Sequence[int]) -> None:
        super().__init__()
        self.ls, self.order = nn.ModuleList(inside), order

    def forward(self, given: Tensor) -> Any:
        for number in self.order:
            given = self.ls[number](given)
        return given


def tree_of(recording: Recording) -> FoldTree:
    return fold_tree(recording[-1].graph)


def titles(tree: FoldTree, fold: Fold) -> list[str]:
    return [title(tree, one) for one in fold.folds if one.kind != "leaves"]


def test_two_calls_side_by_side_are_two_folds() -> None:
    model = nn.Sequential(Block(), Block(), Block(), nn.LayerNorm(4))
    with gradviz.record() as recording:
        loss = model(model(x()))
    tree = tree_of(recording)
    assert loss.requires_grad
    assert titles(tree, tree.root) == ["model · Sequential"] * 2
    assert [kind_of(fold) for fold in tree.root.folds] == ["one call of a module"] * 2
    for fold in tree.root.folds:
        assert titles(tree, fold) == ["model.0 … model.2 ×3 · Block", "model.3 · LayerNorm"]


def test_two_modules_without_a_variable_are_two_folds() -> None:
    def mlp() -> nn.Module:
        return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4), nn.LayerNorm(4))

    with gradviz.record() as recording:
        loss = mlp()(mlp()(x()))
    tree = tree_of(recording)
    assert loss.requires_grad
    assert titles(tree, tree.root) == ["Sequential · Sequential", "Sequential#2 · Sequential"]


def test_calls_of_a_shared_module_are_in_the_modules_that_call_it() -> None:
    act = nn.GELU()
    model = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), act, nn.Linear(4, 4)) for _ in range(6)])
    with gradviz.record() as recording:
        loss = model(x())
    tree = tree_of(recording)
    assert loss.requires_grad
    (blocks,) = tree.root.folds[0].folds
    assert title(tree, blocks) == "model.0 … model.5 ×6 · Sequential"
    for number, fold in enumerate(one for one in blocks.folds if one.kind == "module"):
        makers = {tree.makers[at] for at in tree.nodes_of(fold)} - {None}
        assert makers == {f"model.{number}.{part}" for part in range(3)}


def test_modules_that_one_variable_had_are_a_repeat_with_their_numbers() -> None:
    y: Any = x()
    with gradviz.record() as recording:
        for _ in range(4):
            net = Block()
            y = net(y)
    tree = tree_of(recording)
    assert titles(tree, tree.root) == ["net … net#4 ×4 · Block"]


def test_a_list_of_modules_is_no_call() -> None:
    model = InOrder([nn.Linear(4, 4), nn.LayerNorm(4), Block()], (0, 1, 2))
    with gradviz.record() as recording:
        loss = model(x()).sum()
    for tree in (tree_of(recording), fold_tree(gradviz.snapshot(loss))):
        (fold,) = [fold for fold in tree if fold.path == "model.ls"]
        assert (fold.calls, kind_of(fold)) == (0, "calls of modules in this one")


def test_without_a_recording_it_is_said_how_many_calls_are_known() -> None:
    net = nn.Sequential(Own(), nn.Linear(4, 4))
    tree = fold_tree(gradviz.snapshot(net(x()).sum()))
    (fold,) = [fold for fold in tree if fold.path == "net.0"]
    assert (fold.calls, kind_of(fold)) == (None, "what a module made")
    lin, norm = nn.Linear(4, 4), nn.LayerNorm(4)
    tree = fold_tree(gradviz.snapshot(norm(lin(lin(x())))))
    assert {fold.path: kind_of(fold) for fold in tree if fold.path} == {
        "lin": "2 calls of a module",
        "norm": "one call of a module",
    }


@each(
    ("order", "words"),
    [
        (range(6), "ls.0 … ls.5 ×6 · Block"),
        (range(5, -1, -1), "ls.5 … ls.0 ×6 · Block"),
        ((0, 2, 4, 5, 3, 1), "ls.0, ls.2, ls.4, … ×6 · Block"),
        ((2, 2, 2), "ls.2 ×3 · Block"),
        ((0, 1, 2, 0, 1, 2), "ls.0, ls.1, ls.2 ×6 · Block"),
        ((0, 2, 4), "ls.0 … ls.4 ×3 · Block"),
    ],
)
def test_a_range_names_what_it_covers(order: Sequence[int], words: str) -> None:
    model = InOrder([Block() for _ in range(6)], order)
    with gradviz.record() as recording:
        loss = model(x())
    tree = tree_of(recording)
    assert loss.requires_grad
    found = [title(tree, fold) for fold in tree if fold.kind == "repeat"]
    assert words in found or words.replace("ls.0, ls.1, ls.2 ×6", "ls.0 … ls.2 ×3") in found


def test_a_range_has_no_module_in_it_that_is_elsewhere() -> None:
    model = InOrder([nn.Linear(4, 4) for _ in range(5)], (1, 3))

    with gradviz.record() as recording:
        y = model(x()).exp()
        model.order = (0, 2, 4)
        y = model(y)
    tree = tree_of(recording)
    assert y.requires_grad
    assert "ls.0, ls.2, ls.4 ×3 · Linear" in [title(tree, fold) for fold in tree]


def test_turns_with_other_nodes_are_not_called_by_their_module_alone() -> None:
    nets = [nn.Linear(4, 4) for _ in range(5)]

    y: Any = x()
    with gradviz.record() as recording:
        for net in nets:
            y = net(y).exp().sin()
    tree = tree_of(recording)
    assert titles(tree, tree.root) == ["nets[0] … nets[4] ×5 · Linear, Exp, Sin"]
    assert titles(tree, tree.root.folds[0])[1] == "nets[1] · Linear, Exp, Sin"


def test_a_path_with_a_point_in_brackets_is_one_name() -> None:
    models = {"a.b": InOrder([Block(), Block(), nn.LayerNorm(4)], (0, 1, 2))}
    blocks = {"a.b": nn.Sequential(Block(), nn.LayerNorm(4))}
    with gradviz.record() as recording:
        loss = blocks["a.b"](models["a.b"](x()))
    tree = tree_of(recording)
    assert loss.requires_grad
    assert titles(tree, tree.root) == ['models["a.b"] · InOrder', 'blocks["a.b"] · Sequential']
    assert titles(tree, tree.root.folds[1])[0] == 'blocks["a.b"].0 · Block'


def test_a_node_is_said_to_be_of_its_own_module_not_of_the_one_around() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 4))
    folding = folding_of(gradviz.snapshot(net(x()).sum()), 0)
    assert folding is not None
    tree = folding.tree
    facts = FoldFacts(folding, WholeIndex(tree.graph))
    (node,) = [node for node in tree.graph.nodes if node.name == "ReluBackward0"]
    (row,) = facts.of_node(node, tree.around(node.id)[-1])
    assert row == ["module", "net.1.1 (inferred from parameters and from the nodes around it)"]


def test_a_module_without_a_box_can_be_named() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 4))
    with gradviz.record() as recording:
        loss = net(x()).sum()
    tree = tree_of(recording)
    assert loss.requires_grad
    everything = opened(tree, False)
    closed = opened(tree, ["1.1"])
    assert closed.ids == everything.ids
    assert closed.note == "1.1 has no box of its own: its nodes are shown one by one."
    (node,) = [node for node in tree.graph.nodes if node.name == "ReluBackward0"]
    assert opened(tree, {"open": ["net.1.1"]}).ids == {fold.id for fold in tree.around(node.id)}


def test_a_model_of_which_nothing_is_in_the_graph_is_said() -> None:
    net, other = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 4)
    loss = net(x()).sum()
    said = "Nothing in this graph is of the module given as model=, so it is folded by repeated "
    for model, words in ((other, [said + "structure."]), (net, [])):
        picture = gradviz.show(loss, model=model, fold=0)
        assert [picture.wire["fold"]["note"]] == (words or [""])


def test_where_nothing_around_is_named_a_repeat_has_whole_paths() -> None:
    net = InOrder([Block() for _ in range(4)], range(4))
    with gradviz.record() as recording:
        loss = net(x())
    tree = tree_of(recording)
    assert loss.requires_grad
    (fold,) = [fold for fold in tree if fold.kind == "repeat" and fold.times == 4]
    assert (title(tree, fold), title_alone(tree, fold)) == (
        "ls.0 … ls.3 ×4 · Block",
        "net.ls.0 … net.ls.3 ×4 · Block",
    )


def test_a_document_without_calls_is_read_and_folded_by_the_paths_of_its_modules() -> None:
    model = nn.Sequential(Block(), Block(), Block(), nn.LayerNorm(4))
    with gradviz.record() as recording:
        loss = model(x()).sum()
    assert loss.requires_grad
    rows = json.loads(recording.to_json())
    for step in rows["steps"]:
        for _, node in step.get("nodes", ()):
            node.pop("calls", None)
    old = tree_of(Recording.from_json(json.dumps(rows)))
    new = tree_of(recording)
    assert [(f.kind, f.path, f.nodes) for f in old] == [(f.kind, f.path, f.nodes) for f in new]
    assert {fold.calls for fold in old if fold.path == "model"} == {None}
