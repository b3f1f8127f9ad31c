"""What an audit knows of the parameters that compiled code uses, before backward has run."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gradviz


class Net(nn.Module):
    """One layer gets a gradient, one is detached, one is not used, one is frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.cut = nn.Linear(2, 1), nn.Linear(2, 1)
        self.idle, self.frozen = nn.Linear(2, 1), nn.Linear(2, 1).requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.used(x) + self.cut(x).detach() + self.frozen(x)
        return found


@pytest.mark.exhaustive
def test_the_traced_backward_shows_what_gets_a_gradient() -> None:
    net = Net()
    compiled: Any = torch.compile(net, backend="aot_eager")
    loss = compiled(torch.ones(1, 2)).sum()
    report = gradviz.audit(loss, net)
    said = {row.name: row.gets_gradient for row in report.findings}
    loss.backward()
    for name, parameter in net.named_parameters():
        if name.startswith("idle."):
            assert said[name] is not True  # compiled code does not show what it leaves out
        else:
            assert said[name] is (parameter.grad is not None), name
    assert report["cut.weight"].reason == "not given"
