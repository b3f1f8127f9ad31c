"""A training run with something of everything that a gradient-flow report tells."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import gradviz


class Net(nn.Module):
    """A deep chain of sigmoids, a ReLU that is always shut, and a layer that nothing uses."""

    def __init__(self, depth: int = 3) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(depth)])
        self.gate, self.head, self.spare = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(2, 2)
        with torch.no_grad():
            self.gate.bias.fill_(-100.0)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = torch.sigmoid(block(x))
        found: Tensor = self.head(x + torch.relu(self.gate(x)))
        return found


def trained(
    values: bool = True, turns: int = 4, broken: int | None = 2, depth: int = 3
) -> tuple[gradviz.Recording, Net, list[dict[str, float | None]]]:
    """A recording, the model, and the norms of all ``.grad`` after each backward.

    Args:
        values: For ``gradviz.record()``.
        turns: How many steps.
        broken: The turn whose loss is infinite.
        depth: How many sigmoids.
    """
    torch.manual_seed(0)
    net, norms = Net(depth), list[dict[str, float | None]]()
    own = [p for name, p in net.named_parameters() if not name.startswith("blocks.0")]
    optimizer = torch.optim.SGD(own, lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    data = torch.randn(turns, 3, 4)
    with gradviz.record(values=values) as recording:
        for turn in range(turns):
            net.zero_grad()
            loss = net(data[turn]).pow(2).mean()
            if turn == broken:
                loss = loss * float("inf")
            scaler.scale(loss).backward()
            norms.append(
                {
                    name: None if p.grad is None else float(p.grad.norm())
                    for name, p in net.named_parameters()
                }
            )
            scaler.step(optimizer)
            scaler.update()
    return recording, net, norms
