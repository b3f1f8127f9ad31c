"""Models with convolutions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.placement.architectures.entry import entry, used


def convolution(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()
    )


class Residual(nn.Module):
    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = convolution(before, after), nn.Conv2d(after, after, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(after)
        self.around = nn.Conv2d(before, after, 1) if before != after else None
        self.squeeze = nn.Sequential(
            *(nn.AdaptiveAvgPool2d(1), nn.Conv2d(after, 2, 1), nn.ReLU()),
            *(nn.Conv2d(2, after, 1), nn.Sigmoid()),
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(self.conv1(x)))
        y = y * self.squeeze(y)
        return functional.relu(y + (x if self.around is None else self.around(x)))


@entry
def resnet_squeezed() -> Any:
    sizes = [(3, 4), (4, 4), (4, 8), (8, 8), (8, 8)]
    blocks = nn.Sequential(*(Residual(a, b) for a, b in sizes))
    model = nn.Sequential(blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3))
    return model, used(torch.randn(2, 3, 8, 8))


class Preactivated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bn1, self.bn2 = nn.BatchNorm2d(4), nn.BatchNorm2d(4)
        self.conv1, self.conv2 = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv1(functional.relu(self.bn1(x)))
        y = self.conv2(functional.relu(self.bn2(y)))
        return x + y


@entry
def resnet_preactivated() -> Any:
    layers = [nn.Conv2d(3, 4, 3), *(Preactivated() for _ in range(3)), nn.BatchNorm2d(4)]
    return nn.Sequential(*layers), used(torch.randn(2, 3, 8, 8))


class Dense(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(convolution(3 + 2 * i, 2) for i in range(4))
        self.head = nn.Linear(11, 3)

    def forward(self, x: Tensor) -> Tensor:
        found = [x]
        for layer in self.layers:
            found.append(layer(torch.cat(found, 1)))
        y: Tensor = self.head(torch.cat(found, 1).mean((2, 3)))
        return y


@entry
def densenet() -> Any:
    return Dense(), used(torch.randn(2, 3, 8, 8))


class Down(nn.Module):
    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.both = nn.Sequential(*convolution(before, after), *convolution(after, after))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.both(x)
        return functional.max_pool2d(y, 2), y


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2 = Down(1, 2), Down(2, 4)
        self.middle = convolution(4, 4)
        self.up1, self.up2 = convolution(8, 2), convolution(4, 2)
        self.last = nn.Conv2d(2, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        x, one = self.down1(x)
        x, two = self.down2(x)
        x = functional.interpolate(self.middle(x), scale_factor=2)
        x = functional.interpolate(self.up1(torch.cat([x, two], 1)), scale_factor=2)
        y: Tensor = self.last(self.up2(torch.cat([x, one], 1)))
        return y


@entry
def unet_with_pairs() -> Any:
    return UNet(), used(torch.randn(2, 1, 8, 8))


@entry
def convnext() -> Any:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.depth, self.norm = nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.LayerNorm(4)
            self.wide, self.narrow = nn.Linear(4, 16), nn.Linear(16, 4)
            self.gamma = nn.Parameter(torch.full((4,), 1e-2))

        def forward(self, x: Tensor) -> Tensor:
            y = self.norm(self.depth(x).permute(0, 2, 3, 1))
            y = self.gamma * self.narrow(functional.gelu(self.wide(y)))
            return x + y.permute(0, 3, 1, 2)

    stages = [nn.Sequential(*(Block() for _ in range(2))) for _ in range(3)]
    return nn.Sequential(nn.Conv2d(3, 4, 2, 2), *stages), used(torch.randn(2, 3, 8, 8))
