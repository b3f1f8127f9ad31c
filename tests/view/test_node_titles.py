"""What nodes are called: no title says what is not so."""

from __future__ import annotations

import torch
from torch import nn

import gradviz
from gradviz.model import Graph
from gradviz.model.node_titles import title_of
from gradviz.view.graph_index import GraphIndex


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
        *("linear", "linear", "mse loss"),
        *("relu", "transpose", "transpose"),
    ]


def test_views_do_not_count_and_every_other_operation_does() -> None:
    class Gate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))

        def forward(self) -> torch.Tensor:
            return torch.tanh(self.a) * torch.sigmoid(self.b)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.linear = Gate(), nn.Linear(3, 2)

        def forward(self) -> torch.Tensor:
            return self.linear(self.gate().repeat(2, 2, 1)) * 2

    with gradviz.record() as recording:
        Net()().sum()
    assert {"Linear", "tanh", "sigmoid", "×"} <= {*titles(recording.graph)}
    assert not {"Gate", "Net"} & {*titles(recording.graph)}


def test_other_code_that_uses_parameters_is_not_called_by_their_module() -> None:
    linear, x = nn.Linear(3, 3), torch.ones(3, 3, requires_grad=True)
    for made, called in (
        (linear.weight.pow(2), "pow"),
        (torch.cat([x, linear.weight, linear.bias.unsqueeze(0)]), "cat"),
        (torch.addmm(linear.bias, x, linear.weight), "@ +"),
        (torch.addmm(linear.bias, x, linear.weight.t(), alpha=2), "@ +"),
        (nn.functional.linear(x, linear.weight, linear.bias), "linear"),
        (x @ linear.weight.t(), "linear"),
        (x @ x.t(), "@"),
    ):
        assert called in titles(gradviz.snapshot(made.sum()))
    with gradviz.record() as recording:
        (linear(x).sum() + linear.weight.pow(2).sum()).backward()
    assert sorted(titles(recording.graph)) == ["+", "Linear", "pow", "sum", "sum", "transpose"]
