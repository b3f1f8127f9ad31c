"""Loops, cells, modules that are called several times, and other forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast
from warnings import catch_warnings

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrizations, weight_norm

from tests.placement.architectures.attention import Attention, PreNorm, feed_forward, norm
from tests.placement.architectures.entry import WIDTH, entry, sequence, used


class Outside(nn.Module):
    """What is around each layer is written in the model."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.ModuleList(
                [nn.Sequential(norm(), Attention()), nn.Sequential(norm(), feed_forward())]
            )
            for _ in range(3)
        )

    def forward(self, x: Tensor) -> Tensor:
        for pair in self.layers:
            for branch in cast("nn.ModuleList", pair):
                x = branch(x) + x
        return x


@entry
def residuals_outside() -> Any:
    return Outside(), used(sequence())


class Looped(nn.Module):
    """Each layer, then something else; the same something after the last or not."""

    def __init__(self, then: Callable[[Tensor, Tensor], Tensor], after_last: bool = True) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Gated() for _ in range(4))
        self.head = nn.Linear(WIDTH, 3)
        self.then, self.after_last = then, after_last

    def forward(self, x: Tensor) -> Tensor:
        for i, layer in enumerate(self.layers):
            y = layer(x)
            x = self.then(x, y) if self.after_last or i < 3 else y
        y = self.head(x)
        return y


class Gated(nn.Module):
    """No module but itself has what follows its layers."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.value = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return self.gate(x).sigmoid() * self.value(x)


@entry
def loop_with_relu_outside() -> Any:
    return Looped(lambda x, y: y.relu()), used(sequence())


@entry
def loop_with_residual_outside() -> Any:
    return Looped(lambda x, y: x + y), used(sequence())


@entry
def loop_with_relu_between() -> Any:
    return Looped(lambda x, y: y.relu(), False), used(sequence())


@entry
def loop_with_normalised_outside() -> Any:
    return Looped(lambda x, y: functional.normalize(y, dim=-1)), used(sequence())


class OwnCell(nn.Module):
    """An LSTM written by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.x, self.h = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(WIDTH, 4 * WIDTH)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        i, f, g, o = (self.x(x) + self.h(state[0])).chunk(4, -1)
        c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c


class Unrolled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = OwnCell(), nn.Linear(WIDTH, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = c = torch.zeros(len(x), WIDTH)
        for now in x.unbind(1):
            h, c = self.cell(now, (h, c))
        y: Tensor = self.head(h)
        return y


@entry
def own_lstm_cell() -> Any:
    return Unrolled(), used(sequence())


class Steps(nn.Module):
    """Without a module for one step."""

    def __init__(self) -> None:
        super().__init__()
        self.x, self.h = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(len(x), WIDTH)
        for now in x.unbind(1):
            h = torch.tanh(self.x(now) + self.h(h))
        y: Tensor = self.head(h)
        return y


@entry
def own_rnn() -> Any:
    return Steps(), used(sequence())


class Both(nn.Module):
    """Encoder and decoder, with what comes from all steps."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.GRU(WIDTH, WIDTH, 2, batch_first=True, bidirectional=True)
        self.decoder = nn.LSTM(2 * WIDTH, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, x: Tensor) -> Tensor:
        out, last = self.encoder(x)
        first = last[-1:].contiguous()
        out, (h, c) = self.decoder(out, (first, torch.zeros_like(first)))
        y: Tensor = self.head(out + h.transpose(0, 1) * c.transpose(0, 1))
        return y


@entry
def recurrent_encoder_decoder() -> Any:
    return Both(), used(sequence())


class Twins(nn.Module):
    """One encoder for two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(WIDTH, 16), nn.ReLU(), nn.Linear(16, 4))
        self.head = nn.Linear(4, 1)

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        a = functional.normalize(self.encoder(one), dim=-1)
        b = functional.normalize(self.encoder(other), dim=-1)
        y: Tensor = self.head((a - b).abs())
        return y


@entry
def siamese() -> Any:
    return Twins(), used(sequence(), sequence())


@entry
def siamese_of_a_whole_model() -> Any:
    model = nn.Sequential(nn.Linear(WIDTH, 16), nn.ReLU(), nn.Linear(16, 4))
    x, y = sequence(), sequence()

    def loss(model: Any) -> Tensor:
        one, other = model(x), model(y)
        return functional.mse_loss(one / one.norm(), other / other.norm())

    return model, loss


class Shared(nn.Module):
    """One layer again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.block, self.head = norm(), PreNorm(norm), nn.Linear(WIDTH, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for _ in range(4):
            x = self.block(x)
        y: Tensor = self.head(x)
        return y


@entry
def one_block_four_times() -> Any:
    return Shared(), used(sequence())


@entry
def gan_step() -> Any:
    one = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, WIDTH), nn.Tanh())
    two = nn.Sequential(nn.Linear(WIDTH, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid())
    model, noise = nn.ModuleDict({"generator": one, "discriminator": two}), torch.randn(5, 4)

    def loss(model: Any) -> Tensor:
        scores = model["discriminator"](model["generator"](noise))
        return functional.binary_cross_entropy(scores, torch.ones(5, 1))

    return model, loss


class Variational(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(WIDTH, 16), nn.ReLU())
        self.mean, self.spread = nn.Linear(16, 4), nn.Linear(16, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, WIDTH))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = self.encoder(x)
        mean, spread = self.mean(h), self.spread(h)
        return self.decoder(mean + torch.randn_like(mean) * (spread / 2).exp()), mean, spread


@entry
def variational() -> Any:
    x = sequence()

    def loss(model: Any) -> Tensor:
        y, mean, spread = model(x)
        apart = -0.5 * (1 + spread - mean.pow(2) - spread.exp()).sum()
        return functional.mse_loss(y, x) + apart

    return Variational(), loss


class Messages(nn.Module):
    """A layer of a graph network: no activation of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.of_self, self.of_others = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        sent = self.of_others(x)[edges[0]]
        return self.of_self(x) + torch.zeros_like(x).index_add(0, edges[1], sent)


class Graphs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList(Messages() for _ in range(4))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        for conv in self.convs[:-1]:
            x = functional.dropout(functional.relu(conv(x, edges)), 0.1)
        return functional.log_softmax(self.convs[-1](x, edges), -1)


@entry
def graph_convolutions() -> Any:
    return Graphs(), used(torch.randn(6, WIDTH), torch.randint(6, (2, 20)))


@entry
def sequential_in_sequential() -> Any:
    inner = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Dropout(0.1)) for _ in range(4)]
    return nn.Sequential(*inner, nn.Linear(WIDTH, 1), nn.Softplus()), used(sequence())


@entry
def weights_normed() -> Any:
    with catch_warnings(category=FutureWarning, action="ignore"):
        old = weight_norm(nn.Linear(WIDTH, WIDTH))
    layers = [parametrizations.weight_norm(nn.Linear(WIDTH, WIDTH)), nn.ReLU()]
    layers += [old, nn.ReLU()]
    layers += [parametrizations.spectral_norm(nn.Linear(WIDTH, WIDTH)), nn.ReLU()]
    layers += [parametrizations.orthogonal(nn.Linear(WIDTH, WIDTH))]
    return nn.Sequential(*layers), used(sequence())


class Direct(nn.Module):
    """Parameters of its own, no modules in it."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList(torch.randn(WIDTH, WIDTH) for _ in range(3))
        self.bias = nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        for weight in self.weights:
            x = torch.relu(x @ weight + self.bias)
        return x


@entry
def own_parameters() -> Any:
    return Direct(), used(sequence())


@entry
def iterated_sequential() -> Any:
    class Iterated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(4)))

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = x + functional.silu(layer(x))
            return x

    return Iterated(), used(sequence())


class Experts(nn.Module):
    """Its layers and their experts stand in modules that have no forward."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(3):
            layer: Any = nn.Module()
            layer.norm, layer.gate = norm(), nn.Linear(WIDTH, 3)
            layer.scale = nn.Parameter(torch.ones(WIDTH))
            layer.experts = nn.ModuleList(feed_forward() for _ in range(3))
            self.layers.append(layer)

    def forward(self, x: Tensor) -> Tensor:
        for layer in cast("Any", self.layers):
            h = layer.norm(x) * layer.scale
            parts = layer.gate(h).softmax(-1).unbind(-1)
            for part, expert in zip(parts, layer.experts):
                x = x + part[..., None] * expert(h)
        return x


@entry
def experts_in_modules_without_forward() -> Any:
    return Experts(), used(sequence())
