"""A deep transformer in pure torch, small enough for tests."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Attention(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(size, 3 * size), nn.Linear(size, size)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.c_attn(x).chunk(3, dim=-1)
        weights = functional.softmax(q @ k.transpose(-2, -1), dim=-1)
        found: Tensor = self.c_proj(weights @ v)
        return found


class Block(nn.Module):
    """Twelve parameters; its attention can be cut off."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(size), Attention(size)
        self.ln_2 = nn.LayerNorm(size)
        self.mlp = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))
        self.is_detached = False

    def forward(self, x: Tensor) -> Tensor:
        seen = self.attn(self.ln_1(x))
        x = x + (seen.detach() if self.is_detached else seen)
        found: Tensor = x + self.mlp(self.ln_2(x))
        return found


class Transformer(nn.Module):
    """``h`` blocks, of which one may be frozen and one detached, and perhaps an unused expert."""

    def __init__(
        self, layers: int, frozen: int | None = None, detached: int | None = None, size: int = 8
    ) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.wte = nn.Embedding(20, size)
        self.h = nn.ModuleList(Block(size) for _ in range(layers))
        self.ln_f, self.expert = nn.LayerNorm(size), nn.Linear(size, size)
        for number, block in enumerate(self.h):
            assert isinstance(block, Block)
            block.requires_grad_(number != frozen)
            block.is_detached = number == detached

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.wte(tokens)
        for block in self.h:
            x = block(x)
        found: Tensor = self.ln_f(x)
        return found

    def loss(self) -> Tensor:
        """A loss that does not use the expert."""
        return self(torch.arange(12).view(2, 6)).square().mean()
