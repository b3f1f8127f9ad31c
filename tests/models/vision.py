"""Layers one after the other, and convolutions."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.models.entry import Built, Model, entry, trained

MODELS: Final[list[Model]] = []


def classified(model: nn.Module, x: Tensor, classes: int) -> Built:
    """A model that learns to tell classes apart."""
    y = torch.arange(len(x)) % classes

    def loss() -> Tensor:
        return functional.cross_entropy(model(x), y)

    return trained(model, loss)


@entry(MODELS)
def mlp() -> Built:
    """Layers one after the other, few enough that every node is drawn: a `Linear` is
    `AddmmBackward0` with `TBackward0` on its weight, a dropout is `MulBackward0`."""
    model = nn.Sequential(
        nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3)
    )
    return classified(model, torch.randn(4, 8), 3)


# --- ResNet ---------------------------------------------------------------------------------


class Basic(nn.Module):
    """Two convolutions and what goes around them."""

    growth = 1

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = around(before, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = functional.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out = out + self.downsample(x)
        return functional.relu(out)


class Bottleneck(nn.Module):
    """A convolution between two that make it narrow and wide."""

    growth = 4

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        after = self.growth * width
        self.conv1 = nn.Conv2d(before, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, after, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = around(before, after, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += self.downsample(x)
        y: Tensor = self.relu(out)
        return y


def around(before: int, after: int, stride: int) -> nn.Module:
    if before == after and stride == 1:
        return nn.Identity()
    return nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))


class ResNet(nn.Module):
    """Four stages of blocks, each half as large and twice as wide as the one before."""

    def __init__(self, block: type[Basic | Bottleneck], blocks: tuple[int, ...], width: int):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        )
        before, stages = width, []
        for stage, count in enumerate(blocks):
            layers: list[nn.Module] = []
            for i in range(count):
                layers.append(block(before, width << stage, 2 if stage and not i else 1))
                before = block.growth * (width << stage)
            stages.append(nn.Sequential(*layers))
        self.stages = nn.Sequential(*stages)
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(before, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stages(self.stem(x))
        y: Tensor = self.head(self.pool(x).flatten(1))
        return y


@entry(MODELS)
def resnet18() -> Built:
    """The stages are one box after the other; where blocks or stages are of equal structure
    they are one box with `×2` or `×3`. Open a block to see the way around it meet
    `AddBackward0`."""
    return classified(ResNet(Basic, (2, 2, 2, 2), 4), torch.randn(2, 3, 16, 16), 3)


@entry(MODELS, is_slow=True)
def resnet50() -> Built:
    """The four stages of 3, 4, 6 and 3 blocks, with the bytes that each saves for backward: the
    first ones save most, since their images are large."""
    return classified(ResNet(Bottleneck, (3, 4, 6, 3), 2), torch.randn(2, 3, 16, 16), 3)


# --- U-Net ----------------------------------------------------------------------------------


def twice(before: int, after: int) -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(2, after), nn.SiLU()),
        *(nn.Conv2d(after, after, 3, padding=1), nn.GroupNorm(2, after), nn.SiLU()),
    )


class UNet(nn.Module):
    """Down and up again; each size on the way up also gets what it was on the way down."""

    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__()
        pairs = list(pairwise(widths))
        self.first = twice(1, widths[0])
        self.down = nn.ModuleList(twice(a, b) for a, b in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in reversed(pairs))
        self.joined = nn.ModuleList(twice(2 * a, a) for a, _ in reversed(pairs))
        self.last = nn.Conv2d(widths[0], 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        passed = []
        for down in self.down:
            passed.append(x)
            x = down(functional.max_pool2d(x, 2))
        for up, joined in zip(self.up, self.joined):
            x = joined(torch.cat([up(x), passed.pop()], dim=1))
        y: Tensor = self.last(x)
        return y


@entry(MODELS)
def unet() -> Built:
    """Down three times and up three times. The links from `first` and from the way down past
    the boxes to the way up are the skip connections: what is saved at each size until the way
    up needs it."""
    model = UNet((4, 8, 16, 32))
    clean = torch.randn(2, 1, 16, 16)
    noise = torch.randn_like(clean)

    def loss() -> Tensor:
        return functional.mse_loss(model(clean + noise), noise)

    return trained(model, loss)
