"""Models and steps of training in which not everything goes one way."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from tests.models.entry import Built, Model, entry, trained
from tests.models.vision import classified

MODELS: Final[list[Model]] = []


def layers(*widths: int) -> nn.Sequential:
    """Linear layers with Tanh between them."""
    made: list[nn.Module] = []
    for before, after in pairwise(widths):
        made += [nn.Linear(before, after), nn.Tanh()]
    return nn.Sequential(*made[:-1])


def block(width: int = 8) -> nn.Module:
    return nn.TransformerEncoderLayer(width, 2, 2 * width, dropout=0.1, batch_first=True)


# --- models of which some input uses only a part --------------------------------------------


class Mixture(nn.Module):
    """Each row goes through the expert that its gate prefers."""

    def __init__(self, width: int, experts: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(layers(width, 2 * width, width) for _ in range(experts))

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.gate(x).softmax(-1).topk(2)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows, place = torch.where(chosen == number)
            if len(rows):
                out = out.index_add(0, rows, weights[rows, place, None] * expert(x[rows]))
        return x + out


@entry(MODELS)
def mixture_of_experts() -> Built:
    """Four experts, of which the gate chose three: `experts.3` is not in the graph, and so not
    in the picture. `gradviz.audit(loss, model)` lists its parameters as those that get no
    gradient."""
    mixture = Mixture(8, 4)
    with torch.no_grad():
        mixture.gate.weight[3] = -10 * mixture.gate.weight[:3].sum(0)
        x = mixture.gate.weight[:3].repeat(2, 1) + torch.randn(6, 8) / 10
    return classified(nn.Sequential(mixture, nn.Linear(8, 3)), x, 3)


class MessagePassing(nn.Module):
    """Each vertex adds up what its neighbours send."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.message, self.update = layers(2 * width, width, width), nn.GRUCell(width, width)

    def forward(self, h: Tensor, sender: Tensor, receiver: Tensor) -> Tensor:
        sent = self.message(torch.cat([h[sender], h[receiver]], dim=1))
        received = torch.zeros_like(h).index_add(0, receiver, sent)
        y: Tensor = self.update(received, h)
        return y


class GraphNetwork(nn.Module):
    """Rounds of messages, then one vector per graph."""

    def __init__(self, width: int, rounds: int) -> None:
        super().__init__()
        self.rounds = nn.ModuleList(MessagePassing(width) for _ in range(rounds))
        self.head = nn.Linear(width, 3)

    def forward(self, h: Tensor, edges: Tensor, graph: Tensor) -> Tensor:
        for messages in self.rounds:
            h = messages(h, *edges)
        pooled = h.new_zeros(int(graph.max()) + 1, h.shape[1])
        pooled = pooled.scatter_add(0, graph[:, None].expand_as(h), h)
        y: Tensor = self.head(pooled)
        return y


@entry(MODELS)
def graph_network() -> Built:
    """Three rounds of messages between the vertices of two graphs, then one vector per graph
    (`ScatterAddBackward0`). Open a round to see messages gathered, computed and added up."""
    model = GraphNetwork(8, 3)
    h, edges = torch.randn(10, 8), torch.randint(5, (2, 24))
    edges[:, 12:] += 5
    graph, y = torch.arange(10) // 5, torch.tensor([0, 2])

    def loss() -> Tensor:
        return functional.cross_entropy(model(h, edges, graph), y)

    return trained(model, loss)


# --- several models or losses ---------------------------------------------------------------


@entry(MODELS)
def gan() -> Built:
    """The loss of the generator: it goes through the discriminator to the generator, so
    backward fills `.grad` of both. `gradviz.record()` around a step shows what each of its two
    losses reaches."""
    generator, discriminator = layers(4, 16, 8), layers(8, 16, 1)
    model = nn.ModuleDict({"generator": generator, "discriminator": discriminator})
    learn_g = torch.optim.Adam(generator.parameters(), lr=1e-2)
    learn_d = torch.optim.Adam(discriminator.parameters(), lr=1e-2)
    real, noise = torch.randn(6, 8), torch.randn(6, 4)
    criterion = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(6, 1), torch.zeros(6, 1)

    def loss() -> Tensor:
        y: Tensor = criterion(discriminator(generator(noise)), ones)
        return y

    def step() -> None:
        fake = generator(noise)
        learn_d.zero_grad()
        of_real = criterion(discriminator(real), ones)
        of_fake = criterion(discriminator(fake.detach()), zeros)
        (of_real + of_fake).backward()
        learn_d.step()
        learn_g.zero_grad()
        of_generator = criterion(discriminator(fake), ones)
        of_generator.backward()
        learn_g.step()

    return Built(model, loss, step)


class ActorCritic(nn.Module):
    """What to do and how good it is, from one trunk."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk, self.actor, self.critic = layers(4, 16, 16), nn.Linear(16, 3), nn.Linear(16, 1)

    def forward(self, state: Tensor) -> tuple[torch.distributions.Categorical, Tensor]:
        h = self.trunk(state).tanh()
        return torch.distributions.Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


@entry(MODELS)
def actor_critic() -> Built:
    """Three losses of one trunk: what the actor did, how good the critic found it, and the
    entropy meet at the bottom. The advantage is detached, so no edge leads from the loss of the
    actor to the critic."""
    model = ActorCritic()
    states, rewards = torch.randn(6, 4), torch.randn(6)

    def loss() -> Tensor:
        policy, value = model(states)
        action = policy.sample()
        advantage = rewards - value
        of_actor = -(policy.log_prob(action) * advantage.detach()).mean()
        of_critic = advantage.pow(2).mean()
        y: Tensor = of_actor + 0.5 * of_critic - 0.01 * policy.entropy().mean()
        return y

    return trained(model, loss)


# --- other ways to run ----------------------------------------------------------------------


class Checkpointed(nn.Module):
    """Blocks of which only the inputs are kept for backward."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(block() for _ in range(count))
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        for one in self.blocks:
            x = checkpoint(one, x, use_reentrant=False)
        y: Tensor = self.head(x.mean(1))
        return y


@entry(MODELS)
def checkpointed() -> Built:
    """Checkpointed blocks save nothing but packed inputs: the box says `83 packed`, since torch
    computes the rest again during backward."""
    return classified(Checkpointed(3), torch.randn(2, 4, 8), 3)


@entry(MODELS, is_slow=True)
def compiled() -> Built:
    """`torch.compile` makes one node of the whole model, `CompiledFunctionBackward`: what
    happens inside is code of the compiler, and not in the graph."""
    model = nn.Sequential(block(), block(), nn.Flatten(), nn.Linear(32, 3))
    x, y = torch.randn(2, 4, 8), torch.tensor([0, 2])
    fast = torch.compile(model, backend="aot_eager")

    def loss() -> Tensor:
        return functional.cross_entropy(fast(x), y)

    return trained(model, loss)


@entry(MODELS)
def autocast() -> Built:
    """As without autocast; the casts to `bfloat16` are folded into the nodes that use them
    (open the box of the model, and look for `tocopy`)."""
    model = nn.Sequential(block(), nn.Flatten(), nn.Linear(32, 3))
    x, y = torch.randn(2, 4, 8), torch.tensor([0, 2])

    def loss() -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = model(x)
            return functional.cross_entropy(scores, y)

    return trained(model, loss)


@entry(MODELS)
def accumulation() -> Built:
    """One of three small batches. `gradviz.record()` around the step shows three backwards that
    add to the same `.grad`, then the clipping."""
    model = layers(8, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    parts = [(torch.randn(2, 8), torch.tensor([0, 2])) for _ in range(3)]

    def loss() -> Tensor:
        x, y = parts[0]
        return functional.cross_entropy(model(x), y)

    def step() -> None:
        optimizer.zero_grad()
        for x, y in parts:
            loss = functional.cross_entropy(model(x), y) / len(parts)
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.1)
        optimizer.step()

    return Built(model, loss, step)
