"""A recording knows the modules that were called, and the order in which nodes were made."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import gradviz
from gradviz.model.records import ModuleInfo


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Linear(2, 2)
        self.act = nn.Tanh()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.one(self.one(x)))


def test_modules_are_those_that_were_called_with_their_classes() -> None:
    net = Twice()
    with gradviz.record() as recording:
        net(torch.ones(1, 2)).sum()
    assert recording.modules == (
        ModuleInfo("net", "Twice"),
        ModuleInfo("net.one", "Linear"),
        ModuleInfo("net.act", "Tanh"),
    )
    assert recording.graph.modules == recording.modules
    assert gradviz.Recording.from_json(recording.to_json()) == recording


def test_the_order_is_that_of_the_forward_where_the_edges_do_not_tell_it() -> None:
    x = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        out = x.sin() * x.cos()
        out = (lambda late, early: early * late)(x.sin(), x.cos()) * out
    order = [recording.graph.nodes[place].name for place in recording.graph.order]
    assert [name for name in order if name[:3] in ("Sin", "Cos")] == [
        *("SinBackward0", "CosBackward0", "SinBackward0", "CosBackward0")
    ]
    assert recording.order is not None
    again = gradviz.Recording.from_json(recording.to_json())
    assert list(again.graph.order) == list(recording.graph.order)
    del out


def test_an_order_that_follows_from_the_edges_is_not_stored() -> None:
    x = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        y = (x.sin() * x.cos()).sum()
        y.backward()
    assert recording.order is None
    assert '"order"' not in recording.to_json()
