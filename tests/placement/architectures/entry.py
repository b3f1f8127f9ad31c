"""What a model of another form is, and the list of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn

MODELS: Final[dict[str, Callable[[], Any]]] = {}


class Made(NamedTuple):
    """A model and a forward of it."""

    model: nn.Module
    loss: Callable[[], Tensor]


Maker = Callable[[], tuple[nn.Module, Callable[[Any], Tensor]]]


def entry(make: Maker) -> Maker:
    """Adds what gives a model, and how it is used, to the list."""

    def made() -> Made:
        torch.manual_seed(0)
        model, loss = make()
        return Made(model, lambda: loss(model))

    MODELS[make.__name__.replace("_", " ")] = made
    return make


def used(*inputs: Tensor) -> Callable[[Any], Tensor]:
    """A loss that is computed outside of the model."""

    def loss(model: Any) -> Tensor:
        y: Tensor = model(*inputs)
        return (y - 1).pow(2).mean()

    return loss


WIDTH: Final = 8
WORDS: Final = 11


def sequence() -> Tensor:
    return torch.randn(2, 5, WIDTH)
