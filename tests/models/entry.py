"""What an entry of the gallery is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Built:
    """A model with its data, ready to run."""

    model: nn.Module
    """The model; of several, an ``nn.ModuleDict``."""
    loss: Callable[[], Tensor]
    """One forward: the loss, with its graph."""
    step: Callable[[], object]
    """A whole step of training, as it would be recorded: forward, backward, optimizer."""


@dataclass(frozen=True)
class Model:
    """An entry of the gallery; two calls of ``build()`` give the same model, bit for bit."""

    name: str
    make: Callable[[], Built]
    needs: tuple[str, ...] = ()
    """Packages of the extra ``models``; empty if torch is all it needs."""
    is_slow: bool = False
    """Whether its tests take seconds."""

    def __str__(self) -> str:
        return self.name

    @property
    def is_transformer(self) -> bool:
        """Whether it is one of the package of this name."""
        return "transformers" in self.needs

    @property
    def words(self) -> str:
        """What is seen in its picture."""
        return " ".join((self.make.__doc__ or "").split())

    def build(self) -> Built:
        """The model, with random weights.

        torch's generator starts at 0 and goes on from there: the first ``loss()`` or ``step()``
        after ``build()`` draws the same numbers every time, as dropout does.
        """
        torch.manual_seed(0)
        return self.make()


def entry(
    models: list[Model], *needs: str, is_slow: bool = False
) -> Callable[[Callable[[], Built]], Callable[[], Built]]:
    """Adds what builds a model to a list, under the name of the function."""

    def add(make: Callable[[], Built]) -> Callable[[], Built]:
        models.append(Model(make.__name__, make, needs, is_slow))
        return make

    return add


def trained(
    model: nn.Module,
    loss_of: Callable[[], Tensor],
    optimizer_class: Callable[..., Any] = torch.optim.AdamW,
) -> Built:
    """A model that learns as most do: clear, forward, backward, update."""
    optimizer = optimizer_class(model.parameters(), lr=1e-2)

    def step() -> None:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()

    return Built(model, loss_of, step)
