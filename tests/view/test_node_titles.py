"""What nodes are called: no title says what is not so."""

from __future__ import annotations

import torch
from torch import nn

import gradviz
from gradviz.model import Graph
from gradviz.view.graph_index import GraphIndex
from gradviz.view.node_titles import title_of


def titles(graph: Graph) -> list[str]:
    found = GraphIndex.of(graph).titles
    return [title_of(node, found) for node in graph.nodes if node.variable is None]


def test_a_node_is_called_by_the_module_whose_one_operation_it_is() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    with gradviz.record() as recording:
        loss = nn.functional.mse_loss(model(torch.ones(2, 3)), torch.ones(2, 1))
    assert sorted(titles(recording.graph)) == [
        *("Linear", "Linear", "ReLU"),
        *("mse loss", "transpose", "transpose"),
    ]
    assert sorted(titles(gradviz.snapshot(loss))) == [
        *("Linear", "Linear", "mse loss"),
        *("relu", "transpose", "transpose"),
    ]


def test_a_module_of_several_operations_names_none_of_them() -> None:
    class Twice(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.exp().sin()

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.twice = Twice()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.twice(x) * 2

    with gradviz.record() as recording:
        Net()(torch.ones(2, requires_grad=True)).sum()
    assert titles(recording.graph) == ["exp", "sin", "×"]


def test_other_code_that_uses_a_parameter_is_not_called_by_its_module() -> None:
    linear, bare = nn.Linear(3, 1), nn.Linear(3, 1, bias=False)
    x = torch.ones(2, 3)
    assert titles(gradviz.snapshot(linear.weight.pow(2).sum())) == ["sum", "pow"]
    assert titles(gradviz.snapshot((bare.weight * x).sum())) == ["sum", "×"]
    assert "Linear" not in titles(gradviz.snapshot(nn.functional.linear(x, linear.weight).sum()))
    with gradviz.record() as recording:
        (linear(x).sum() + linear.weight.pow(2).sum()).backward()
    assert sorted(titles(recording.graph)) == ["+", "Linear", "pow", "sum", "sum", "transpose"]
