"""The graphs that are measured, each built fresh when asked for."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def multiplications(size: int) -> Tensor:
    """``y = y * w``: each node saves two tensors."""
    w = torch.ones(4, requires_grad=True)
    y = torch.ones(4, requires_grad=True) * w
    for _ in range(size - 1):
        y = y * w
    return y


def scalings(size: int) -> Tensor:
    """``y = y * 1.0001``: each node saves one number."""
    y = torch.ones(4, requires_grad=True)
    for _ in range(size):
        y = y * 1.0001
    return y


def mlp(size: int) -> Tensor:
    """Loss of an MLP whose graph has ``size`` nodes, to the next multiple of 5."""
    depth = max(1, size // 5)
    layers: list[nn.Module] = []
    for _ in range(depth):
        layers += [nn.Linear(8, 8), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    return nn.functional.mse_loss(model(torch.ones(4, 8)), torch.zeros(4, 8))


def transformer(size: int) -> Tensor:
    """Training loss of an encoder with ``size`` layers."""
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = nn.TransformerEncoder(layer, size, enable_nested_tensor=False)
    loss: Tensor = model(torch.ones(4, 16, 64)).sum()
    return loss


BUILDERS: dict[str, Callable[[int], Tensor]] = {
    "y * w": multiplications,
    "y * 1.0001": scalings,
    "MLP": mlp,
    "transformer": transformer,
}
