"""Training steps that are recorded: a GPT-2, an MLP in a loop, an unrolled RNN, a long file."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

import gradviz

Step = Callable[[], object]
WORDS = 512


@dataclass(frozen=True)
class Program:
    """Some code that can be run again and again."""

    step: Step
    lines: tuple[Any, ...]
    """Functions of which the lines are recorded, as those of the code's own block are."""
    classes: tuple[Any, ...] = ()
    """Classes of the user's that the code calls."""


class Attention(nn.Module):
    """Causal attention with 4 heads."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.c_attn(x).split(width, dim=2)
        q = q.view(batch, length, 4, width // 4).transpose(1, 2)
        k = k.view(batch, length, 4, width // 4).transpose(1, 2)
        v = v.view(batch, length, 4, width // 4).transpose(1, 2)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(batch, length, width)
        out: Tensor = self.c_proj(y)
        return out


class MLP(nn.Module):
    """Two linear layers with GELU."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.gelu = nn.GELU(approximate="tanh")
        self.c_proj = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        h = self.c_fc(x)
        h = self.gelu(h)
        out: Tensor = self.c_proj(h)
        return out


class Block(nn.Module):
    """Attention and MLP, each after a LayerNorm and around which x goes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = MLP(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


class GPT(nn.Module):
    """GPT-2 with tied embeddings."""

    def __init__(self, layers: int, width: int) -> None:
        super().__init__()
        self.wte = nn.Embedding(WORDS, width)
        self.wpe = nn.Embedding(128, width)
        self.h = nn.ModuleList([Block(width) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, WORDS, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        position = torch.arange(tokens.shape[1])
        x = self.wte(tokens) + self.wpe(position)
        for block in self.h:
            x = block(x)
        x = self.ln_f(x)
        logits = self.lm_head(x)
        return functional.cross_entropy(logits.view(-1, WORDS), targets.view(-1))


def gpt(layers: int, width: int) -> Program:
    """A step of AdamW on a batch of 4 x 128 tokens."""
    torch.manual_seed(0)
    model = GPT(layers, width)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens, targets = torch.randint(WORDS, (2, 4, 128)).unbind()

    def step() -> None:
        optimizer.zero_grad()
        loss = model(tokens, targets)
        loss.backward()
        optimizer.step()

    return Program(step, (step,), (GPT, Block, Attention, MLP))


class Perceptron(nn.Module):
    """Three linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(64, 256)
        self.second = nn.Linear(256, 256)
        self.third = nn.Linear(256, 10)

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x)
        h = h.relu()
        h = self.second(h)
        h = h.relu()
        out: Tensor = self.third(h)
        return out


def mlp(iterations: int) -> Program:
    """So many steps of SGD in a loop."""
    torch.manual_seed(0)
    model = Perceptron()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(64, 64), torch.randint(10, (64,))

    def loop() -> None:
        for _ in range(iterations):
            optimizer.zero_grad()
            prediction = model(x)
            loss = functional.cross_entropy(prediction, y)
            loss.backward()
            optimizer.step()

    return Program(loop, (loop,), (Perceptron,))


class Cell(nn.Module):
    """One step of an RNN."""

    def __init__(self) -> None:
        super().__init__()
        self.inward = nn.Linear(8, 16)
        self.onward = nn.Linear(16, 16)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        a = self.inward(x)
        b = self.onward(h)
        return torch.tanh(a + b)


def rnn(steps: int) -> Program:
    """Unrolled over so many steps, and one backward."""
    torch.manual_seed(0)
    cell = Cell()
    xs = torch.randn(steps, 1, 8)

    def unrolled() -> None:
        h = torch.zeros(1, 16)
        for x in xs:
            h = cell(x, h)
        loss = h.sum()
        loss.backward()

    return Program(unrolled, (unrolled,), (Cell,))


_CELL = """\
def cell(record):
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    c = torch.tensor(5.0, requires_grad=True)
    with record() as recording:
        out1 = a * b
        out1.retain_grad()
        out2 = out1 + c
        out2.backward()
        d = a.detach() * 2
        e = d + out1.detach()
        f = e * b
        f.backward()
        a.grad = None
        b.grad = None
    return recording
"""


def cell(lines: int) -> Callable[[Any], gradviz.Recording]:
    """A block of ten lines in a file of so many; it is called with what makes the block."""
    name = f"<file of {lines} lines>"
    others = "def f(x):\n    y = x * 2\n    return y\n\n"
    text = others * ((lines - _CELL.count("\n")) // 4) + _CELL
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    variables: dict[str, Any] = {"torch": torch}
    exec(compile(text, name, "exec"), variables)
    found: Callable[[Any], gradviz.Recording] = variables["cell"]
    return found
