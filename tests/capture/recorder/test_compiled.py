"""What ``torch.compile`` does to make code is none of the user's, and it makes none of gradviz."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gradviz


@pytest.fixture(autouse=True)
def _nothing_is_compiled_yet() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def compiled(function: Any) -> Any:
    return torch.compile(function, backend="aot_eager")


def ran(recording: gradviz.Recording) -> list[str]:
    return [recording.graph[node].name for node in recording.backward_order]


def test_the_backward_with_which_a_compiler_looks_at_a_model_is_not_recorded() -> None:
    fast, x = compiled(nn.Sequential(nn.Linear(3, 4), nn.Tanh())), torch.ones(2, 3)
    found = []
    for _ in range(2):  # it compiles the first time
        with gradviz.record() as recording:
            fast(x).sum().backward()
        found.append((ran(recording), len(recording.graph)))
    assert found[0] == found[1]
    assert found[0][0] == ["SumBackward0", "CompiledFunctionBackward", *2 * ["AccumulateGrad"]]


# The compiler itself asks for the gradient of the loss.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_a_compiled_step_with_its_backward_is_recorded_and_gives_the_same_gradients() -> None:
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh()), torch.ones(2, 3)

    def step(x: Tensor) -> Tensor:
        loss: Tensor = model(x).sum()
        loss.backward()
        return loss.detach()

    def gradients() -> list[Tensor]:
        found = [parameter.grad for parameter in model.parameters()]
        model.zero_grad()
        return [grad for grad in found if grad is not None]

    step(x)
    expected = gradients()
    fast = compiled(step)
    for _ in range(2):
        with gradviz.record() as recording:
            fast(x)
        assert all(map(torch.equal, gradients(), expected))
        assert ran(recording) == ["CompiledFunctionBackward", *2 * ["AccumulateGrad"]]
