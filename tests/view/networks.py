"""Recordings of a step of training of networks that courses have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

import gradviz
from gradviz.model import Recording


def mlp() -> Recording:
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    x, target = torch.randn(6, 4), torch.randn(6, 1)
    with gradviz.record() as recording:
        loss = functional.mse_loss(net(x), target)
        loss.backward()
    return recording


def cnn() -> Recording:
    net = nn.Sequential(
        *(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        nn.Linear(36, 3),
    )
    x, target = torch.randn(2, 1, 8, 8), torch.zeros(2, dtype=torch.long)
    with gradviz.record() as recording:
        loss = functional.cross_entropy(net(x), target)
        loss.backward()
    return recording


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(8, 8) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        weights = torch.softmax(q @ k.transpose(-2, -1) / 8**0.5, -1)
        out: Tensor = self.out(weights @ v)
        return out


def attention() -> Recording:
    net = Attention()
    x, target = torch.randn(2, 5, 8), torch.randn(2, 5, 8)
    with gradviz.record() as recording:
        loss = functional.mse_loss(net(x), target)
        loss.backward()
    return recording


def gan() -> Recording:
    generator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
    critic = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    z, real = torch.randn(4, 2), torch.randn(4, 2)
    loss_of, yes, no = (
        functional.binary_cross_entropy_with_logits,
        torch.ones(4, 1),
        torch.zeros(4, 1),
    )
    with gradviz.record() as recording:
        fake = generator(z)
        d_loss = loss_of(critic(real), yes) + loss_of(critic(fake.detach()), no)
        d_loss.backward()
        g_loss = loss_of(critic(fake), yes)
        g_loss.backward()
    return recording


def lstm() -> Recording:
    cell = nn.LSTMCell(3, 4)
    xs = torch.randn(8, 2, 3)
    with gradviz.record() as recording:
        h, c = torch.zeros(2, 4), torch.zeros(2, 4)
        for x in xs:
            h, c = cell(x, (h, c))
        loss = h.sum()
        loss.backward()
    return recording


class Block(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.ln1(x)).chunk(3, -1)
        x = x + self.proj(functional.scaled_dot_product_attention(q, k, v, is_causal=True))
        made: Tensor = x + self.mlp(self.ln2(x))
        return made


class Gpt(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.tok, self.pos = nn.Embedding(20, width), nn.Embedding(8, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(4))
        self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, 20, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        made: Tensor = self.head(self.ln(x))
        return made


def gpt() -> Recording:
    net = Gpt()
    optimizer = torch.optim.AdamW(net.parameters())
    ids = torch.randint(20, (2, 8))
    with gradviz.record() as recording:
        loss = functional.cross_entropy(net(ids).view(-1, 20), ids.view(-1))
        loss.backward()
        optimizer.step()
    return recording


NETWORKS: Final[dict[str, Callable[[], Recording]]] = {
    one.__name__: one for one in (mlp, cnn, attention, gan, lstm, gpt)
}
