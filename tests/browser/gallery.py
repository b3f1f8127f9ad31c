"""Programs that stand for what people show: small and large, with loops, hooks and errors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import torch
from torch import Tensor, nn

import gradviz
from gradviz.view.widgets.base import GraphWidget

GALLERY: dict[str, Callable[[], GraphWidget]] = {}
"""By name; each runs its program anew."""
RECORDINGS: dict[str, Callable[[], gradviz.Recording]] = {}
"""Those of a player, by the same name."""


def shown(make: Callable[[], GraphWidget]) -> Callable[[], GraphWidget]:
    GALLERY[make.__name__] = make
    return make


def recorded(make: Callable[[], gradviz.Recording]) -> Callable[[], gradviz.Recording]:
    GALLERY[make.__name__] = lambda: gradviz.show(make())
    RECORDINGS[make.__name__] = make
    return make


def mlp(turns: int) -> gradviz.Recording:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, targets = torch.randn(16, 3), torch.randn(16, 1)
    with gradviz.record() as recording:
        for _ in range(turns):
            optimizer.zero_grad()
            prediction = model(inputs)
            loss = nn.functional.mse_loss(prediction, targets)
            loss.backward()
            optimizer.step()
    return recording


@recorded
def two_lines() -> gradviz.Recording:
    x, w = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0], requires_grad=True)
    with gradviz.record() as recording:
        loss = (w * x).sum()
        loss.backward()
    return recording


@recorded
def ten_lines() -> gradviz.Recording:
    with gradviz.record() as recording:
        a = torch.tensor(2.0, requires_grad=True)
        b = torch.tensor(3.0, requires_grad=True)
        c = torch.tensor(5.0, requires_grad=True)
        product = a * b
        total = product + c
        squashed = total.tanh()
        scaled = squashed * 4
        shifted = scaled - b
        loss = shifted**2
        loss.backward()
    return recording


@recorded
def mlp_one_step() -> gradviz.Recording:
    return mlp(1)


@recorded
def mlp_three_steps() -> gradviz.Recording:
    return mlp(3)


@recorded
def accumulation() -> gradviz.Recording:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with gradviz.record() as recording:
        for x in (torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]), torch.tensor([1.0, 1.0])):
            loss = (w * x).sum()
            loss.backward()
        w.grad = None
    return recording


@recorded
def backward_twice() -> gradviz.Recording:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with suppress(RuntimeError), gradviz.record() as recording:
        loss = (w * w).sum()
        loss.backward()
        loss.backward()
    return recording


@recorded
def write_in_place() -> gradviz.Recording:
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with suppress(RuntimeError), gradviz.record() as recording:
        h = w.exp()
        y = (h * h).sum()
        h.add_(1)
        y.backward()
    return recording


@recorded
def hooks() -> gradviz.Recording:
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    with gradviz.record() as recording:
        c = a * b
        c.retain_grad()
        c.register_hook(lambda grad: grad * 10)
        d = c.tanh()
        d.backward()
    return recording


@recorded
def recurrent() -> gradviz.Recording:
    torch.manual_seed(0)
    cell = nn.RNNCell(2, 3)
    inputs = torch.randn(5, 1, 2)
    with gradviz.record() as recording:
        h = torch.zeros(1, 3)
        for x in inputs:
            h = cell(x, h)
        loss = h.pow(2).sum()
        loss.backward()
    return recording


@recorded
def branches() -> gradviz.Recording:
    def grow(x: Tensor, turns: int) -> Tensor:
        y = x
        for _ in range(turns):
            y = y.sqrt() if y > 3 else y * x + 1
        return y

    x = torch.tensor(1.5, requires_grad=True)
    with gradviz.record() as recording:
        out = grow(x, 4)
        out.backward()
    return recording


@recorded
def attention() -> gradviz.Recording:
    torch.manual_seed(0)
    width = 4
    q, k, v = (nn.Linear(width, width, bias=False) for _ in range(3))
    x = torch.randn(2, 3, width)
    with gradviz.record() as recording:
        scores = q(x) @ k(x).transpose(1, 2) / width**0.5
        weights = scores.softmax(-1)
        out = weights @ v(x)
        loss = out.square().mean()
        loss.backward()
    return recording


@recorded
def long_chain() -> gradviz.Recording:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with gradviz.record() as recording:
        h = w
        for _ in range(11):
            h = h * 1.01 + w
        loss = h.sum()
        loss.backward()
    return recording


@recorded
def write_to_a_leaf() -> gradviz.Recording:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with suppress(RuntimeError), gradviz.record() as recording:
        loss = (w**2).sum()
        loss.backward()
        w.sub_(0.1 * w)
    return recording


def encoder_loss() -> Tensor:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(
        d_model=8, nhead=2, dim_feedforward=16, dropout=0.0, batch_first=True
    )
    loss: Tensor = layer(torch.randn(2, 4, 8)).mean()
    return loss


@recorded
def transformer() -> gradviz.Recording:
    with gradviz.record() as recording:
        loss = encoder_loss()
        loss.backward()
    return recording


@shown
def picture_of_two_lines() -> GraphWidget:
    x, w = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0], requires_grad=True)
    return gradviz.show((w * x).sum())


@shown
def picture_of_a_transformer() -> GraphWidget:
    return gradviz.show(encoder_loss())


@shown
def explained_error() -> GraphWidget:
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with gradviz.expect_error() as error:
        h = w.exp()
        h.add_(1)
        h.sum().backward()
    return gradviz.show(error)


@shown
def explore() -> GraphWidget:
    def program(a: Tensor, b: Tensor, retain_grad: bool = False) -> dict[str, Tensor]:
        y = a * b
        if retain_grad:
            y.retain_grad()
        y.backward()
        return {"y": y}

    return gradviz.explore(program, a=2.0, b=3.0)


@shown
def audit() -> GraphWidget:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    model[0].bias.requires_grad_(False)
    hidden = model[1](model[0](torch.randn(16, 3))).detach()
    loss = model[2](hidden).mean()
    return gradviz.audit(loss, model)


@shown
def memory() -> GraphWidget:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    return gradviz.memory(model(torch.randn(16, 3)).mean(), model)


@shown
def compare() -> GraphWidget:
    x, w = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0], requires_grad=True)
    return gradviz.compare((w * x).sum(), (w + x).mean())
