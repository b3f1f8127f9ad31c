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


class Block(nn.Module):
    """A block of a GPT-2, written out as its reference implementation is."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.mlp_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        parts = self.c_attn(self.ln_1(x)).split(width, 2)
        q, k, v = (p.view(batch, tokens, self.heads, -1).transpose(1, 2) for p in parts)
        scores = q @ k.transpose(2, 3) * (width // self.heads) ** -0.5
        mask = torch.ones(tokens, tokens, dtype=torch.bool).tril()
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
        mixed = (scores.softmax(3) @ v).transpose(1, 2).reshape(x.shape)
        x = x + self.c_proj(mixed)
        h = self.c_fc(self.ln_2(x))
        inner = 0.7978845608 * (h + 0.044715 * h.pow(3))
        made: Tensor = x + self.mlp_proj(0.5 * h * (1 + torch.tanh(inner)))
        return made


class GPT(nn.Module):
    """A GPT-2 for 4 sequences of 128 tokens of a vocabulary of 512."""

    def __init__(self, layers: int, width: int) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(512, width), nn.Embedding(128, width)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    def loss(self) -> Tensor:
        """The loss of one forward."""
        tokens = torch.arange(512).view(4, 128)
        x = self.wte(tokens) + self.wpe(torch.arange(128))
        for block in self.blocks:
            x = block(x)
        logits = self.ln_f(x) @ self.wte.weight.t()
        return nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())


def gpt(width: int, is_filled: bool, layers: int = 12) -> Tensor:
    """Loss of a GPT-2 whose ``.grad`` are ``None``, or filled by a backward before."""
    model = GPT(layers, width)
    if is_filled:
        model.loss().backward()
    return model.loss()


class GroupedAttention(nn.Module):
    """Causal attention whose keys and values have fewer heads than its queries."""

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, groups * self.size, bias=False)
        self.value = nn.Linear(width, groups * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, tokens, width = x.shape

        def split(y: Tensor, heads: int) -> Tensor:
            return y.view(batch, tokens, heads, self.size).transpose(1, 2)

        def turned(y: Tensor) -> Tensor:
            first, second = y.chunk(2, 3)
            return y * cos + torch.cat((-second, first), 3) * sin

        q, k = turned(split(self.query(x), self.heads)), turned(split(self.key(x), self.groups))
        v = split(self.value(x), self.groups)
        attend = nn.functional.scaled_dot_product_attention
        mixed = attend(q, k, v, is_causal=True, enable_gqa=True)
        made: Tensor = self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return made


class GatedMLP(nn.Module):
    """``down(silu(gate(x)) * up(x))``."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.down(nn.functional.silu(self.gate(x)) * self.up(x))
        return made


class LlamaBlock(nn.Module):
    """Attention and MLP, each behind a norm and beside a residual."""

    def __init__(self, width: int, heads: int, groups: int, inner: int) -> None:
        super().__init__()
        self.attn_norm, self.mlp_norm = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attn, self.mlp = GroupedAttention(width, heads, groups), GatedMLP(width, inner)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attn(self.attn_norm(x), cos, sin)
        made: Tensor = x + self.mlp(self.mlp_norm(x))
        return made


class Llama(nn.Module):
    """A Llama; with no arguments of the size of the one with 70 billion parameters.

    On the device ``meta``, or in a ``FakeTensorMode``, it takes no memory.
    """

    def __init__(
        self,
        layers: int = 80,
        width: int = 8192,
        heads: int = 64,
        groups: int = 8,
        inner: int = 28672,
        words: int = 128256,
    ) -> None:
        super().__init__()
        self.size = width // heads
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList(LlamaBlock(width, heads, groups, inner) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, words, bias=False)

    def loss(self, tokens: Tensor) -> Tensor:
        """Loss of one forward."""
        x = self.embedding(tokens)
        cos = torch.ones(tokens.shape[1], self.size, dtype=x.dtype, device=x.device)
        sin = torch.zeros_like(cos)
        for layer in self.layers:
            x = layer(x, cos, sin)
        logits = self.head(self.norm(x)).flatten(0, 1)
        return nn.functional.cross_entropy(logits.float(), tokens.flatten())


BUILDERS: dict[str, Callable[[int], Tensor]] = {
    "y * w": multiplications,
    "y * 1.0001": scalings,
    "MLP": mlp,
    "transformer": transformer,
    "GPT-2 of width": lambda width: gpt(width, False),
    "GPT-2 with .grad, of width": lambda width: gpt(width, True),
}


# ---------------------------------------------------------- graphs that have any size


def fan(size: int) -> Tensor:
    """One node that has ``size`` leaves."""
    return torch.stack([torch.ones((), requires_grad=True) for _ in range(size)])


def ladder(size: int) -> Tensor:
    """``y = sin(y) + cos(y)``, with 2 to the power of a third of ``size`` paths."""
    y = torch.ones(4, requires_grad=True)
    for _ in range(size // 3):
        y = y.sin() + y.cos()
    return y


class RNN(nn.Module):
    """A cell whose loop is written out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.cell, self.out = nn.RNNCell(width, width), nn.Linear(width, 1)

    def loss(self, steps: int) -> Tensor:
        """The loss after so many steps."""
        h = torch.zeros(2, self.cell.hidden_size)
        for _ in range(steps):
            h = self.cell(torch.ones_like(h), h)
        made: Tensor = self.out(h).sum()
        return made


def _rnn(steps: int) -> tuple[Tensor, nn.Module]:
    model = RNN(8)
    return model.loss(steps), model


def _gpt(layers: int) -> tuple[Tensor, nn.Module]:
    model = GPT(layers, 16)
    return model.loss(), model


SCALES: dict[str, Callable[[int], tuple[Tensor, nn.Module | None]]] = {
    "chain": lambda size: (scalings(size), None),
    "chain that saves": lambda size: (multiplications(size), None),
    "fan": lambda size: (fan(size), None),
    "ladder": lambda size: (ladder(size), None),
    "RNN": _rnn,
    "GPT": _gpt,
}
"""Graphs that are measured at several sizes, with the module that made them."""


# ------------------------------------------------ graphs as modules, for tools that call them


class Calls(nn.Module):
    """A module whose forward is a function of a tensor and the module inside."""

    def __init__(self, function: Callable[[Tensor], Tensor], inside: nn.Module | None) -> None:
        super().__init__()
        self.function, self.inside = function, inside

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def _called(model: nn.Module, loss: Callable[[], Tensor]) -> tuple[Calls, Tensor]:
    return Calls(lambda x: loss() + 0 * x.sum(), model), torch.ones(1)


def _called_mlp(size: int) -> tuple[Calls, Tensor]:
    layers = [layer for _ in range(size) for layer in (nn.Linear(8, 8), nn.ReLU())]
    model = nn.Sequential(*layers)
    return Calls(lambda x: model(x).sum(), model), torch.ones(4, 8)


def _called_chain(size: int) -> tuple[Calls, Tensor]:
    def chain(x: Tensor) -> Tensor:
        for _ in range(size):
            x = x * 1.0001
        return x.sum()

    return Calls(chain, None), torch.ones(4, requires_grad=True)


def _called_gpt(layers: int) -> tuple[Calls, Tensor]:
    model = GPT(layers, 16)
    return _called(model, model.loss)


def _called_rnn(steps: int) -> tuple[Calls, Tensor]:
    model = RNN(8)
    return _called(model, lambda: model.loss(steps))


CALLED: dict[str, Callable[[int], tuple[Calls, Tensor]]] = {
    "MLP": _called_mlp,
    "GPT": _called_gpt,
    "RNN": _called_rnn,
    "chain": _called_chain,
}
"""Modules and what they are called with."""
