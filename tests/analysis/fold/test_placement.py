"""Which module made each node: what is known, what follows, and what is left open."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import gradviz
from gradviz.analysis.fold.placement import placement_of
from gradviz.model import Graph, Node

Placed = list[tuple[str, str | None]]


def placed(graph: Graph) -> Placed:
    """Names and paths of the nodes but leaves, in the order of the forward."""
    paths = placement_of(graph).paths
    return [(graph.names[place].removesuffix("Backward0"), paths[place]) for place in graph.order]


def paths_of(graph: Graph, name: str) -> list[str | None]:
    return [path for node, path in placed(graph) if node == name]


class Block(nn.Module):
    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.sin(self.one(x))
        return y + torch.cos(self.two(y))


class Net(nn.Module):
    def __init__(self, blocks: int, between: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)
        self.blocks = nn.ModuleList(Block() for _ in range(blocks))
        self.between = between

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for block in self.blocks:
            x = self.between(block(x))
        y: Tensor = self.last(x)
        return y


def snapshot_of(model: nn.Module, loss: Callable[[nn.Module], Tensor] | None = None) -> Graph:
    x = torch.ones(2, 4)
    return gradviz.snapshot(model(x).sum() if loss is None else loss(model))


def test_what_a_recording_has_seen_is_known_and_no_more() -> None:
    nodes = [
        Node("n0", "SinBackward0", (("n1", 0),), module="net"),
        Node("n1", "CosBackward0", (("n2", 0),)),
        Node("n2", "TanBackward0", (None,), module="net"),
    ]
    found = placement_of(Graph.of(nodes, [("n0", 0)]))
    assert found.paths == ("net", None, "net")
    assert not found.inferred


def test_what_a_recording_saw_outside_of_all_modules_is_known_to_be_there() -> None:
    net = nn.Linear(4, 4)
    with gradviz.record() as recording:
        loss = net(torch.ones(2, 4)).exp().sum()
    graph = recording[-1].graph
    found = placement_of(graph)
    assert {graph.names[place] for place in found.outside} == {"ExpBackward0", "SumBackward0"}
    assert all(found.paths[place] is None for place in found.outside)
    assert loss.requires_grad


def test_without_modules_nothing_is_known() -> None:
    x = torch.ones(3, requires_grad=True)
    found = placement_of(gradviz.snapshot((x.sin() * x).sum()))
    assert set(found.paths) == {None}
    assert not found.inferred


def test_the_end_of_each_block_is_in_it_and_of_the_last_one_too() -> None:
    model = Net(3, lambda x: x)
    assert paths_of(snapshot_of(model), "Cos") == [f"model.blocks.{i}" for i in range(3)]
    assert paths_of(snapshot_of(model), "Add") == [f"model.blocks.{i}" for i in range(3)]


def test_what_may_be_of_the_block_or_of_the_loop_is_of_what_is_around_both() -> None:
    graph = snapshot_of(Net(3, torch.tanh))
    assert paths_of(graph, "Tanh") == ["model"] * 3
    assert paths_of(graph, "Add") == [f"model.blocks.{i}" for i in range(3)]


def test_of_a_single_block_the_end_is_not_known() -> None:
    assert paths_of(snapshot_of(Net(1, torch.tanh)), "Add") == ["model"]


def test_the_loss_is_of_no_module_that_is_known() -> None:
    found = placement_of(snapshot_of(Net(2, torch.tanh)))
    assert paths_of(snapshot_of(Net(2, torch.tanh)), "Sum") == [None]
    assert not found.outside  # the model itself may have computed it


def test_a_loss_that_a_module_in_the_model_may_have_computed_is_not_known() -> None:
    class WithLoss(Net):
        def __init__(self) -> None:
            super().__init__(2, torch.tanh)
            self.criterion = nn.MSELoss()

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.criterion(super().forward(x), x) * 2
            return y

    graph = gradviz.snapshot(WithLoss()(torch.ones(2, 4)))
    assert graph.modules == ()  # no variable leads to it
    model = WithLoss()
    graph = gradviz.snapshot(model(torch.ones(2, 4)))
    assert placed(graph)[-2:] == [("MseLoss", None), ("Mul", None)]


def test_what_a_block_may_have_made_after_its_last_layer_is_not_known() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.only = Block()

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.only(x)
            return y

    assert paths_of(snapshot_of(Outer()), "Sum") == [None]


def test_modules_without_parameters_are_known_in_a_row() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Sigmoid())
    graph = snapshot_of(model)
    assert paths_of(graph, "Tanh") == ["model.1"]
    assert paths_of(graph, "Sigmoid") == [None]  # model[:3](x).sigmoid() is the same graph
    assert paths_of(graph, "Sum") == [None]


def test_a_row_that_is_gone_through_by_hand_is_not_called() -> None:
    class ByHand(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = torch.tanh(layer(x))
            return x

    assert paths_of(snapshot_of(ByHand()), "Tanh")[0] == "model"


def test_a_class_that_has_only_the_name_of_one_of_torchs_is_not_taken_for_it() -> None:
    class Named(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return torch.relu(super().forward(x))

    Named.__name__ = "Linear"
    graph = snapshot_of(nn.Sequential(*(Named(4, 4) for _ in range(3))))
    assert set(paths_of(graph, "Relu")) == {None}


def test_what_a_loop_makes_of_the_result_of_one_block_is_not_in_it() -> None:
    class Again(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block, self.first, self.last = Block(), nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            x = self.first(x)
            for _ in range(3):
                x = functional.normalize(self.block(x), dim=-1)
            y: Tensor = self.last(x)
            return y

    graph = snapshot_of(Again())
    assert set(paths_of(graph, "LinalgVectorNorm") + paths_of(graph, "Div")) == {"model"}
    assert paths_of(graph, "Cos") == ["model.block"] * 3


def test_what_is_between_two_calls_of_a_module_is_not_in_it() -> None:
    class Twins(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = Block()
            self.head = nn.Linear(4, 1)

        def forward(self, x: Tensor) -> Tensor:
            one = functional.normalize(self.encoder(x), dim=-1)
            other = functional.normalize(self.encoder(x + 1), dim=-1)
            y: Tensor = self.head(one * other)
            return y

    graph = snapshot_of(Twins())
    assert set(paths_of(graph, "LinalgVectorNorm") + paths_of(graph, "Div")) == {"model"}
    assert paths_of(graph, "Sin") == ["model.encoder"] * 2


def test_of_a_model_that_is_called_twice_what_is_between_is_outside() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))

    def loss(model: nn.Module) -> Tensor:
        x = torch.ones(2, 4)
        y: Tensor = (model(x).exp() - model(x + 1)).sum()
        return y

    graph = snapshot_of(model, loss)
    assert paths_of(graph, "Exp") == [None]
    assert paths_of(graph, "Tanh") == ["model.1"] * 2


def test_one_weight_of_two_modules_is_told_by_what_they_compute() -> None:
    words, head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
    head.weight = words.weight
    model = nn.Sequential(words, head)
    del words, head
    graph = gradviz.snapshot(model(torch.tensor([1, 2])).sum())
    assert placed(graph)[:3] == [
        ("Embedding", "model.0"),
        ("T", "model.1"),
        ("Mm", "model.1"),
    ]


def test_what_punishes_large_weights_is_of_no_module() -> None:
    def loss(model: nn.Module) -> Tensor:
        found: Tensor = model(torch.ones(2, 4)).sum()
        return found + sum(p.pow(2).sum() for p in model.parameters())

    graph = snapshot_of(Net(2, torch.tanh), loss)
    assert set(paths_of(graph, "Pow")) == {None}


def test_weights_that_the_module_around_them_uses_are_its_own() -> None:
    model = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    graph = gradviz.snapshot(model(torch.ones(2, 3, 4)).sum())
    assert "model.self_attn.out_proj" not in set(placement_of(graph).paths)
    assert "model.self_attn" in set(placement_of(graph).paths)

    class Doubled(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return functional.linear(x, self.weight * 2)

    assert paths_of(snapshot_of(nn.Sequential(Doubled(4, 4))), "Mm") == ["model.0"]


def test_frozen_weights_are_known_where_they_are_saved() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    model[2].requires_grad_(False)
    assert "model.2" in paths_of(snapshot_of(model), "Addmm")


def test_modules_have_those_without_tensors_where_something_in_the_graph_is_around() -> None:
    unused = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU()))
    graph = gradviz.snapshot(model(torch.ones(2, 4)).sum())
    assert unused is not None
    assert [(one.path, one.type) for one in graph.modules] == [
        ("model", "Sequential"),
        ("model.0", "Linear"),
        ("model.1", "Sequential"),
        ("model.1.0", "ReLU"),
    ]


@pytest.mark.parametrize("node", [Node("n0", "AccumulateGrad", (), variable=None)])
def test_a_graph_of_one_node_has_a_placement(node: Node) -> None:
    assert placement_of(Graph.of([node], [("n0", 0)])).paths == (None,)


def test_the_work_grows_with_the_nodes() -> None:
    cell = nn.LSTMCell(2, 2)

    def calls(steps: int) -> int:
        state = torch.zeros(1, 2), torch.zeros(1, 2)
        for x in torch.ones(steps, 1, 2, requires_grad=True).unbind(0):
            state = cell(x, state)
        graph = gradviz.snapshot(state[0].sum(), names=dict(cell.named_parameters()))
        assert len(graph.order) > 15 * steps
        counted: Counter[str] = Counter()
        before = sys.getprofile()
        sys.setprofile(lambda _frame, event, _value: counted.update((event,)))
        try:
            placement_of(graph)
        finally:
            sys.setprofile(before)
        return counted["call"] + counted["c_call"]

    assert calls(1600) < 16 * calls(100) * 1.1
