"""Sequences, step by step: as one node, and unrolled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.models.entry import Built, Model, entry, trained

MODELS: Final[list[Model]] = []

WORDS, WIDTH, LENGTH = 11, 8, 12


class Tagger(nn.Module):
    """Words through layers that torch runs over the whole sequence."""

    def __init__(self, layers: Callable[..., nn.Module]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.layers = layers(WIDTH, WIDTH, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words: Tensor) -> Tensor:
        out, _ = self.layers(self.embedding(words))
        y: Tensor = self.head(out)
        return y


class Unrolled(nn.Module):
    """Words through a cell, one after the other."""

    def __init__(self, cell: Callable[[int, int], nn.Module]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.cell = cell(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words: Tensor) -> Tensor:
        state: Any = None
        out = []
        for x in self.embedding(words).unbind(1):
            state = self.cell(x, state)
            h = state[0] if isinstance(state, tuple) else state
            out.append(self.head(h))
        return torch.stack(out, dim=1)


def predicting(model: nn.Module) -> Built:
    """A model that learns which word comes next."""
    words = torch.randint(WORDS, (2, LENGTH + 1))

    def loss() -> Tensor:
        scores = model(words[:, :-1])
        return functional.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten())

    return trained(model, loss)


@entry(MODELS)
def lstm() -> Built:
    """On this processor torch has one kernel for a layer and all time steps: one node,
    `MkldnnRnnLayerBackward0`, with all weights of the layer. `gru` has no such kernel."""
    return predicting(Tagger(nn.LSTM))


@entry(MODELS)
def lstm_cell() -> Built:
    """A loop over words: the time steps are one box, `×12`, with the cell and the head in it.
    All steps use the same parameters, which are counted once."""
    return predicting(Unrolled(nn.LSTMCell))


@entry(MODELS)
def gru() -> Built:
    """The same as `lstm`, but torch writes the layers out: 359 nodes in the box of the module,
    the time steps of both layers."""
    return predicting(Tagger(nn.GRU))


@entry(MODELS)
def rnn_cell() -> Built:
    """As `lstm_cell`, with less in each time step."""
    return predicting(Unrolled(nn.RNNCell))
