"""Real models: what is on the screen at first, and what is a repeat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import gradviz
from gradviz.analysis.fold.opening import FEW, opened
from gradviz.analysis.fold.tree import fold_tree
from gradviz.model.fold import FoldTree

WIDTH = 16


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        split = self.qkv(self.norm_1(x)).split(WIDTH, 2)
        q, k, v = (one.view(batch, length, 2, 8).transpose(1, 2) for one in split)
        scores = (q @ k.transpose(-2, -1) / 8**0.5).softmax(-1)
        mixed = (scores @ v).transpose(1, 2).contiguous().view(batch, length, WIDTH)
        x = x + self.out(mixed)
        return x + self.mlp(self.norm_2(x))


class Gpt(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(20, WIDTH), nn.Embedding(8, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(layers))
        self.ln_f, self.lm_head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 20, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens: Tensor) -> Any:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class Vit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, WIDTH, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.place = nn.Parameter(torch.zeros(1, 5, WIDTH))
        self.blocks = nn.ModuleList(Block() for _ in range(6))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3)

    def forward(self, images: Tensor) -> Any:
        x = self.patch(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.place
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class Bert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 32, batch_first=True)
        self.embeddings = nn.Embedding(20, WIDTH)
        self.encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, 20)

    def forward(self, tokens: Tensor) -> Any:
        return self.head(self.encoder(self.embeddings(tokens)))


class T5(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Embedding(20, WIDTH)
        self.transformer = nn.Transformer(WIDTH, 2, 4, 4, 32, batch_first=True)
        self.lm_head = nn.Linear(WIDTH, 20)

    def forward(self, tokens: Tensor) -> Any:
        return self.lm_head(self.transformer(self.shared(tokens), self.shared(tokens)))


def of_tokens(model: nn.Module) -> tuple[Tensor, nn.Module]:
    tokens = torch.randint(20, (2, 8))
    return functional.cross_entropy(model(tokens).view(-1, 20), tokens.view(-1)), model


def vit() -> tuple[Tensor, nn.Module]:
    model = Vit()
    return functional.cross_entropy(model(torch.randn(2, 3, 8, 8)), torch.tensor([0, 2])), model


def tree_of(loss: Any, model: nn.Module) -> FoldTree:
    return fold_tree(gradviz.snapshot([loss, model] if isinstance(loss, Tensor) else loss))


def boxes(tree: FoldTree) -> int:
    ids = opened(tree).ids
    return 1 + sum(tree.cards(fold) - 1 for fold in tree if fold.id in ids)


@pytest.mark.parametrize(
    ("make", "times"),
    [
        (lambda: of_tokens(Gpt(12)), {12}),
        (lambda: of_tokens(Gpt(96)), {96}),
        (lambda: of_tokens(Bert()), {6}),
        (lambda: of_tokens(T5()), {4}),
        (vit, {6}),
    ],
    ids=["gpt", "gpt of 96 layers", "bert", "t5", "vit"],
)
def test_the_loss_of_a_transformer_opens_with_few_boxes(
    make: Callable[[], tuple[Tensor, nn.Module]], times: set[int]
) -> None:
    loss, model = make()
    tree = tree_of(loss, model)
    assert boxes(tree) <= FEW
    assert times <= {fold.times for fold in tree if fold.kind == "repeat"}


def unrolled_cell() -> tuple[Any, nn.Module]:
    cell = nn.LSTMCell(4, 8)
    hidden = state = torch.zeros(3, 8)
    found = []
    for _ in range(30):
        hidden, state = cell(torch.randn(3, 4), (hidden, state))
        found.append(hidden)
    return torch.stack(found).pow(2).mean(), cell


def gan() -> tuple[Any, nn.Module]:
    made = nn.ModuleDict(
        {
            "generator": nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 6)),
            "critic": nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1)),
        }
    )
    fake = made["generator"](torch.randn(5, 4))
    real = functional.softplus(-made["critic"](torch.randn(5, 6))).mean()
    return real + functional.softplus(made["critic"](fake)).mean(), made


def actor_critic() -> tuple[Any, nn.Module]:
    actor = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    chosen, values = [], []
    for _ in range(25):
        seen = torch.randn(4)
        chosen.append(functional.log_softmax(actor(seen), -1)[0])
        values.append(critic(seen))
    return [-torch.stack(chosen).sum(), torch.cat(values).pow(2).mean()], actor


def stacked_lstm() -> tuple[Any, nn.Module]:
    model = nn.LSTM(4, 8, 2)
    return model(torch.randn(40, 3, 4))[0].sum(), model


@pytest.mark.parametrize("make", [unrolled_cell, gan, actor_critic, stacked_lstm])
def test_any_model_opens_with_boxes_for_one_screen(
    make: Callable[[], tuple[Any, nn.Module]],
) -> None:
    loss, model = make()
    tree = tree_of(loss, model)
    assert boxes(tree) <= 40
    assert sum(fold.nodes for fold in tree if fold is tree.root) == len(tree.graph)


def test_parameters_are_in_the_fold_of_their_module() -> None:
    loss, model = of_tokens(Gpt(4))
    tree = tree_of(loss, model)
    graph = tree.graph
    names = {info.id: info.name or "" for info in graph.tensors}
    checked = 0
    for node in graph.nodes:
        if node.variable is None:
            continue
        owner, _, _ = names[node.variable].rpartition(".")
        paths = [fold.path for fold in tree.around(node.id) if fold.kind == "module"]
        if "wte" not in owner and "lm_head" not in owner:  # used by two modules
            assert paths[-1] == owner
            checked += 1
    assert checked == 4 * 12 + 3
