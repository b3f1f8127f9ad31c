from __future__ import annotations

import sys
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from gradviz.analysis.memory.count import memory_of
from gradviz.capture.memory import read_kept
from tests.analysis.memory.counting import Saves, without_numbers

LAYERS: dict[str, Any] = {
    "linear": lambda n: nn.Linear(n, n),
    "no bias": lambda n: nn.Linear(n, n, bias=False),
    "relu": lambda n: nn.ReLU(),
    "relu_": lambda n: nn.Sequential(nn.Linear(n, n), nn.ReLU(inplace=True)),
    "tanh": lambda n: nn.Tanh(),
    "dropout": lambda n: nn.Dropout(0.5),
    "layer norm": lambda n: nn.LayerNorm(n),
    "batch norm": lambda n: nn.BatchNorm1d(n),
    "frozen": lambda n: nn.Linear(n, n).requires_grad_(False),
    "branch": lambda n: Branch(n),
}


class Branch(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.inner = nn.Linear(n, n)
        self.scale = nn.Parameter(torch.ones(n))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.inner(x).sin() * self.scale


@settings(max_examples=60, deadline=None)
@given(
    layers=st.lists(st.sampled_from(sorted(LAYERS)), min_size=1, max_size=7),
    shape=st.tuples(st.integers(2, 5), st.integers(1, 6)),
    requires_grad=st.booleans(),
    training=st.booleans(),
)
def test_numbers_of_random_modules_are_those_that_hooks_count(
    layers: list[str], shape: tuple[int, int], requires_grad: bool, training: bool
) -> None:
    model = nn.Sequential(*(LAYERS[name](shape[1]) for name in layers)).train(training)
    last = nn.Linear(shape[1], 2)
    whole = nn.Sequential(model, last)
    x = torch.rand(shape, requires_grad=requires_grad)

    found = memory_of(*read_kept(whole(x).square().sum(), whole, None, sys._getframe()))

    saves = Saves()
    with saves.hooks():
        loss = whole(x).square().sum()
    sizes = saves.storages()
    assert without_numbers(found) == sorted(sizes.values())
    parameters = {p.untyped_storage()._cdata for p in whole.parameters()}
    buffers = {b.untyped_storage()._cdata for b in whole.buffers()}
    assert found.parameters == sum(n for key, n in sizes.items() if key in parameters)
    assert found.buffers == sum(n for key, n in sizes.items() if key in buffers)
    assert found.inputs == sizes.get(x.untyped_storage()._cdata, 0)
    kinds = (found.parameters, found.buffers, found.inputs, found.activations)
    assert sum(kinds) == found.total == sum(one.counted for one in found.nodes)
    del loss
