"""What the boxes of some models are, and what they are called."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import gradviz
from gradviz.analysis.fold.folding import CROWD, folding_of
from gradviz.model.folding import Folding
from gradviz.view.fold_words import title
from tests.models.gallery import named
from tests.models.recurrent import Unrolled, predicting


def folded(name: str) -> Folding:
    """How the loss of a model of the gallery is folded."""
    built = named(name).build()
    model, loss = built.model, built.loss()
    assert isinstance(model, nn.Module)
    found = folding_of(gradviz.snapshot(loss))
    assert found is not None
    return found


def titles(folding: Folding, path: str) -> list[str]:
    """The titles of the folds in a module."""
    (fold,) = (one for one in folding.tree if one.kind == "module" and one.path == path)
    return [title(folding.tree, one) for one in fold.folds]


@pytest.mark.parametrize("name", ["lstm_cell", "rnn_cell"])
def test_time_steps_of_a_loop_over_unbind_are_one_repeat(name: str) -> None:
    folding = folded(name)
    assert titles(folding, "model") == ["embedding · Embedding", "cell, head ×12"]
    (repeat,) = (one for one in folding.tree if one.kind == "repeat" and one.times == 12)
    steps = [title(folding.tree, one) for one in repeat.folds]
    assert steps == [f"turn {number} of 12" for number in range(1, 13)]


def test_many_time_steps_are_in_parts_that_say_which_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.models.recurrent.LENGTH", 36)
    torch.manual_seed(0)
    built = predicting(Unrolled(nn.RNNCell))
    model, loss = built.model, built.loss()
    assert isinstance(model, nn.Module)
    folding = folding_of(gradviz.snapshot(loss))
    assert folding is not None
    (repeat,) = (one for one in folding.tree if one.kind == "repeat" and one.times == 36)
    assert title(folding.tree, repeat) == "cell, head ×36"
    parts = [title(folding.tree, one) for one in repeat.folds]
    ends = ["1 … 12", "13 … 24", "25 … 36"]
    assert parts == [f"turns {two} of 36" for two in ends]


def test_lists_of_modules_are_repeats_of_their_own() -> None:
    assert titles(folded("unet"), "model") == [
        "first · Sequential",
        "down.0 … down.2 ×3 · Sequential, MaxPool2DWithIndices",
        "joined.0 … joined.2 ×3 · Sequential, ConvTranspose2d, Cat",
        "last · Conv2d",
    ]


def test_layers_stay_closed_and_what_calls_them_opens() -> None:
    folding = folded("graph_network")
    opened = [folding.tree[key].path for key in sorted(folding.opening.ids)]
    assert opened == ["", "model"]


def test_parts_without_modules_are_called_by_their_operations() -> None:
    built = named("resnet18").build()
    loss = built.loss()
    del built
    folding = folding_of(gradviz.snapshot(loss))
    assert folding is not None
    found = [title(folding.tree, one) for one in folding.tree.root.folds]
    assert not any("leaves" in one or "Backward" in one for one in found)


@pytest.mark.parametrize("count", [CROWD, CROWD + 1])
def test_a_crowd_of_leaves_is_folded(count: int) -> None:
    leaves = [torch.ones(2, requires_grad=True) for _ in range(count)]
    loss = torch.cat(leaves)
    assert (folding_of(gradviz.snapshot(loss)) is None) == (count == CROWD)
