"""Programs of several files and cells that write in place where they must not."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.ledger.bug import explained, fix

SAVED: Final = "modified by an inplace operation"
LEAF: Final = "is being used in an in-place operation"
VIEWS: Final = "is the output of a function that returns multiple views"
program = partial(explained, "explained: written in place")

# --- saved tensors ---------------------------------------------------------------------------

program(
    "state in a dataclass decays in place",
    ("state.h", "self.state.h", "model.state.h", "s.h"),
    """
    # %% memory.py
    from dataclasses import dataclass
    import torch
    from torch import nn

    @dataclass
    class State:
        h: torch.Tensor

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(3, 3)

        def forward(self, x, s):
            out = self.gate(x) * s.h
            s.h *= 0.5  # culprit
            return out
    # %%
    from memory import Reader, State
    model, x = Reader(), torch.randn(2, 3)
    # %%
    state = State(torch.ones(2, 3))
    total = model(x, state) + model(x, state)
    loss = total.pow(2).sum()
    loss.backward()  # raises
    """,
    (("s.h *= 0.5", "s.h = s.h * 0.5"),),
    message=SAVED,
)
program(
    "attention weights assigned through a mask",
    ("weights",),
    """
    # %% attention.py
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width)

        def forward(self, x, padding):
            q, k, v = self.qkv(x).chunk(3, dim=-1)
            weights = (q @ k.transpose(-2, -1)).softmax(dim=-1)
            weights[padding] = 0.0  # culprit
            return weights @ v
    # %%
    from attention import Attention
    model, x = Attention(3), torch.randn(2, 4, 3)
    padding = torch.zeros(2, 4, 4).bool()
    padding[1, :, 2:] = True
    # %%
    loss = model(x, padding).pow(2).mean()
    loss.backward()  # raises
    """,
    (("weights[padding] = 0.0", "weights = weights.masked_fill(padding, 0.0)"),),
    message=SAVED,
)
program(
    "outputs of a cell in a tensor that is read again",
    ("out",),
    """
    # %%
    class Rnn(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.cell = nn.Linear(n, n)

        def forward(self, x):
            out = torch.zeros(len(x) + 1, x.size(1))
            for t in range(len(x)):
                out[t + 1] = torch.tanh(x[t] + self.cell(out[t]))  # culprit
            return out[1:].sum()
    model, x = Rnn(2), torch.randn(3, 2)
    # %%
    loss = model(x)
    loss.backward()  # raises
    """,
    fix(
        "out = torch.zeros(len(x) + 1, x.size(1))",
        "out = [torch.zeros(x.size(1))]",
        "out[t + 1] = torch.tanh(x[t] + self.cell(out[t]))",
        "out.append(torch.tanh(x[t] + self.cell(out[t])))",
        "out[1:].sum()",
        "torch.stack(out[1:]).sum()",
    ),
    message=SAVED,
)
program(
    "running scale of two forwards",
    ("self.scale", "model.scale", "scale"),
    """
    # %% norm.py
    import torch
    from torch import nn

    class Norm(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(n))
            self.register_buffer("scale", torch.ones(n))

        def forward(self, x):
            if self.training:
                with torch.no_grad():
                    self.scale.mul_(0.9).add_(0.1 * x.std(dim=0))  # culprit
            return x * self.weight / self.scale
    # %%
    from norm import Norm
    model = Norm(3)
    a, b = torch.randn(4, 3), torch.randn(4, 3)
    # %%
    loss = (model(a).mean() - model(b).mean()).pow(2)
    loss.backward()  # raises
    """,
    fix(
        "self.scale.mul_(0.9).add_(0.1 * x.std(dim=0))",
        "self.scale = self.scale * 0.9 + 0.1 * x.std(dim=0)",
    ),
    message=SAVED,
)
program(
    "comprehension of activations in place",
    ("h", "hidden[1]", "hidden[0]", "hidden"),
    """
    # %%
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = nn.ModuleList(nn.Linear(3, 2) for _ in range(2))

        def forward(self, x):
            hidden = [torch.tanh(head(x)) for head in self.heads]
            hidden = [h.clamp_(min=0) for h in hidden]  # culprit
            return sum(h.sum() for h in hidden)
    model, x = Heads(), torch.randn(4, 3)
    # %%
    loss = model(x)
    loss.backward()  # raises
    """,
    (("h.clamp_(min=0)", "h.clamp(min=0)"),),
    message=SAVED,
)
program(
    "module with inplace=True in an attribute",
    ("y", "x", "self.gate", "gated"),
    """
    # %% block.py
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.fc = nn.Linear(n, n)
            self.act = nn.ReLU(inplace=True)  # culprit

        def forward(self, x):
            y = torch.sigmoid(self.fc(x)) - 0.5
            gated = y * y
            return self.act(y) + gated  # culprit
    # %%
    from block import Block
    model, x = nn.Sequential(Block(3), nn.Linear(3, 1)), torch.randn(4, 3)
    # %%
    loss = model(x).sum()
    loss.backward()  # raises
    """,
    (("nn.ReLU(inplace=True)", "nn.ReLU()"),),
    message=SAVED,
)
program(
    "module with inplace=True in one that no variable names",
    ("y", "x"),
    """
    # %% block.py
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.fc = nn.Linear(n, n)
            self.act = nn.ReLU(inplace=True)

        def forward(self, x):
            y = torch.tanh(self.fc(x))
            return self.act(y) + x  # culprit
    # %%
    from block import Block
    x = torch.randn(4, 3, requires_grad=True)
    # %%
    Block(3)(x).sum().backward()  # raises
    """,
    (("nn.ReLU(inplace=True)", "nn.ReLU()"),),
    result="[x.grad]",
    message=SAVED,
)
program(
    "functional activation with inplace=True",
    ("h",),
    """
    # %% net.py
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 3)
            self.b = nn.Linear(3, 3)

        def forward(self, x):
            h = torch.tanh(self.a(x))
            F.leaky_relu(h, 0.1, inplace=True)  # culprit
            return self.b(h)
    # %%
    from net import Net
    model, x = Net(), torch.randn(4, 3)
    # %%
    for step in range(2):
        loss = model(x).sum()
        loss.backward()  # raises
    """,
    (("F.leaky_relu(h, 0.1, inplace=True)", "h = F.leaky_relu(h, 0.1)"),),
    message=SAVED,
)
program(
    "advantages normalised in place",
    ("advantages",),
    """
    # %% agent.py
    import torch

    def losses(policy, value, states, returns):
        advantages = returns - value(states).squeeze(1)
        value_loss = advantages.pow(2).mean()
        advantages -= advantages.mean()  # culprit
        advantages /= advantages.std() + 1e-8
        policy_loss = -(policy(states).log_softmax(1)[:, 0] * advantages.detach()).mean()
        return policy_loss, value_loss
    # %%
    from agent import losses
    model = nn.ModuleList([nn.Linear(3, 2), nn.Linear(3, 1)])
    states, returns = torch.randn(5, 3), torch.randn(5)
    # %%
    policy_loss, value_loss = losses(model[0], model[1], states, returns)
    loss = policy_loss + 0.5 * value_loss
    loss.backward()  # raises
    """,
    fix(
        "advantages -= advantages.mean()",
        "advantages = advantages - advantages.mean()",
        "advantages /= advantages.std() + 1e-8",
        "advantages = advantages / (advantages.std() + 1e-8)",
    ),
    message=SAVED,
)
program(
    "layer norm by hand",
    ("x", "h"),
    """
    # %% norm.py
    import torch
    from torch import nn

    def layer_norm(x, eps=1e-5):
        x -= x.mean(dim=-1, keepdim=True)
        x /= (x.pow(2).mean(dim=-1, keepdim=True) + eps).sqrt()  # culprit
        return x

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 3)

        def forward(self, x):
            return layer_norm(self.a(x))
    # %%
    from norm import Net
    model, x = Net(), torch.randn(4, 3)
    target = torch.randn(4, 3)
    # %%
    loss = (model(x) - target).abs().sum()
    loss.backward()  # raises
    """,
    fix(
        "x /= (x.pow(2).mean(dim=-1, keepdim=True) + eps).sqrt()",
        "x = x / (x.pow(2).mean(dim=-1, keepdim=True) + eps).sqrt()",
    ),
    message=SAVED,
)
program(
    "class token added to the first position",
    ("tokens",),
    """
    # %% vit.py
    import torch
    from torch import nn

    class Vit(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.embed = nn.Linear(n, n)
            self.cls = nn.Parameter(torch.randn(n))

        def forward(self, x):
            tokens = torch.sigmoid(self.embed(x))
            tokens[:, 0] += self.cls  # culprit
            return tokens.mean(dim=1)
    # %%
    from vit import Vit
    model, x = Vit(3), torch.randn(2, 4, 3)
    # %%
    loss = model(x).pow(2).sum()
    loss.backward()  # raises
    """,
    fix(
        "tokens[:, 0] += self.cls",
        "first = (tokens[:, :1] + self.cls)\n"
        "        tokens = torch.cat([first, tokens[:, 1:]], dim=1)",
    ),
    message=SAVED,
)
program(
    "replay memory written while a sample is in use",
    ("self.states", "memory.states", "states", "batch"),
    """
    # %% replay.py
    import torch

    class Memory:
        def __init__(self, size, width):
            self.states = torch.zeros(size, width)
            self.next = 0

        def push(self, state):
            self.states[self.next % len(self.states)] = state  # culprit
            self.next += 1

        def recent(self, count):
            return self.states[:count]
    # %%
    from replay import Memory
    torch.manual_seed(3)
    memory, model = Memory(4, 3), nn.Linear(3, 1)
    for _ in range(4):
        memory.push(torch.randn(3))
    new = torch.randn(2, 3)
    # %%
    for state in new:
        batch = memory.recent(3)
        value = model(batch).mean()
        memory.push(state)
        loss = (value - 1).pow(2)
        loss.backward()  # raises
    """,
    (("return self.states[:count]", "return self.states[:count].clone()"),),
    message=SAVED,
)
program(
    "membrane potential of a spiking neuron",
    ("mem",),
    """
    # %% spiking.py
    import torch
    from torch import nn

    class Lif(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.fc = nn.Linear(n, n)
            self.beta = nn.Parameter(torch.tensor(0.9))

        def forward(self, x):
            mem = torch.zeros(x.size(1), x.size(2))
            spikes = []
            for step in range(len(x)):
                mem = self.beta * mem + self.fc(x[step])
                spike = torch.sigmoid(5 * (mem - 1))
                spikes.append(spike * mem)
                mem -= spike  # culprit
            return torch.stack(spikes).mean()
    # %%
    from spiking import Lif
    model, x = Lif(3), torch.randn(3, 2, 3)
    # %%
    loss = model(x)
    loss.backward()  # raises
    """,
    (("mem -= spike", "mem = mem - spike"),),
    message=SAVED,
)
program(
    "dropout mask multiplied in place in a while loop",
    ("h",),
    """
    # %%
    def dropout(h, mask):
        h *= mask  # culprit
        return h

    def encode(layers, x, masks):
        at = 0
        while at < len(layers):
            x = dropout(torch.exp(layers[at](x)), masks[at])
            at += 1
        return x
    model = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 2)])
    x = torch.randn(4, 3)
    masks = [(torch.rand(4, 3) > 0.5).double(), (torch.rand(4, 2) > 0.5).double()]
    # %%
    loss = encode(model, x, masks).sum()
    loss.backward()  # raises
    """,
    (("h *= mask", "h = h * mask"),),
    message=SAVED,
)
program(
    "optimizer of the critic steps before the actor's backward",
    ("critic.weight", "net.critic.weight", "self.critic.weight", "model.critic.weight"),
    """
    # %% a2c.py
    import torch
    from torch import nn

    class Nets(nn.Module):
        def __init__(self):
            super().__init__()
            self.actor = nn.Linear(3, 2)
            self.critic = nn.Linear(2, 1)

    def train(model, actor_opt, critic_opt, states, targets):
        actions = torch.tanh(model.actor(states))
        q = model.critic(actions.detach())
        actor_loss = -model.critic(actions).mean()
        critic_loss = (q - targets).pow(2).mean()
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()  # culprit
        actor_opt.zero_grad()
        actor_loss.backward()  # raises
        actor_opt.step()
    # %%
    from a2c import Nets, train
    model = Nets()
    actor_opt = optim.SGD(model.actor.parameters(), lr=0.1)
    critic_opt = optim.SGD(model.critic.parameters(), lr=0.1)
    states, targets = torch.randn(4, 3), torch.randn(4, 1)
    # %%
    for epoch in range(2):
        train(model, actor_opt, critic_opt, states, targets)
    """,
    fix(
        "    actor_loss = -model.critic(actions).mean()\n",
        "",
        "    actor_opt.zero_grad()\n",
        "    actor_opt.zero_grad()\n    actor_loss = -model.critic(actions).mean()\n",
    ),
    result="list(model.parameters())",
    message=SAVED,
)
program(
    "discriminator steps between the losses of a cell",
    ("disc.2.weight", "d.2.weight", "disc[2].weight"),
    """
    # %%
    def mlp(a, b):
        return nn.Sequential(nn.Linear(a, 4), nn.Tanh(), nn.Linear(4, b))
    gen, disc = mlp(2, 3), mlp(3, 1)
    opt_g = optim.SGD(gen.parameters(), lr=0.1)
    opt_d = optim.SGD(disc.parameters(), lr=0.1)
    real, noise = torch.randn(5, 3), torch.randn(5, 2)
    # %%
    for epoch in range(2):
        fake = gen(noise)
        loss_d = disc(fake.detach()).mean() - disc(real).mean()
        loss_g = -disc(fake).mean()
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()  # culprit
        opt_g.zero_grad()
        loss_g.backward()  # raises
        opt_g.step()
    """,
    fix(
        "    loss_g = -disc(fake).mean()\n",
        "",
        "    opt_g.zero_grad()\n",
        "    opt_g.zero_grad()\n    loss_g = -disc(fake).mean()\n",
    ),
    result="[*gen.parameters(), *disc.parameters()]",
    message=SAVED,
)
program(
    "buffer of a module cleared by a callback",
    ("self.trace", "model.trace", "trace"),
    """
    # %% trace.py
    import torch
    from torch import nn

    class Trace(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.register_buffer("trace", torch.ones(n))
            self.weight = nn.Parameter(torch.randn(n))

        def forward(self, x):
            return (self.trace * self.weight * x).sum()

        def end_of_episode(self):
            self.trace.fill_(1.0)  # culprit
    # %%
    from trace import Trace
    model = Trace(3)
    callbacks = [model.end_of_episode]
    # %%
    loss = model(torch.ones(3))
    for callback in callbacks:
        callback()
    loss.backward()  # raises
    """,
    (("self.trace.fill_(1.0)", "self.trace = torch.full_like(self.trace, 1.0)"),),
    message=SAVED,
)
program(
    "gates of chunk activated in place",
    ("i",),
    """
    # %% cell.py
    import torch
    from torch import nn

    class Cell(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.ih = nn.Linear(n, 3 * n)

        def forward(self, x, c):
            i, f, o = self.ih(x).chunk(3, dim=1)
            i.sigmoid_()  # culprit raises
            f.sigmoid_()
            c = f * c + i
            return torch.sigmoid(o) * torch.tanh(c), c
    # %%
    from cell import Cell
    model = Cell(3)
    x, c = torch.randn(2, 3), torch.zeros(2, 3)
    # %%
    h, c = model(x, c)
    loss = h.sum()
    loss.backward()
    """,
    (("i.sigmoid_()", "i = i.sigmoid()"), ("f.sigmoid_()", "f = f.sigmoid()")),
    message=VIEWS,
)
program(
    "halves of a split scaled in place",
    ("shift", "scale"),
    """
    # %% coupling.py
    import torch
    from torch import nn

    class Coupling(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(2, 4)

        def forward(self, x):
            a, b = x.split(2, dim=1)
            scale, shift = self.net(a).split(2, dim=1)
            scale *= 0.1  # culprit raises
            return torch.cat([a, b * scale.exp() + shift], dim=1)
    # %%
    from coupling import Coupling
    model, x = Coupling(), torch.randn(3, 4)
    # %%
    loss = model(x).pow(2).sum()
    loss.backward()
    """,
    (("scale *= 0.1", "scale = scale * 0.1"),),
    message=VIEWS,
)

# --- leaves ----------------------------------------------------------------------------------

program(
    "average of weights kept as parameters",
    ("p", "target.weight"),
    """
    # %% ema.py
    def update(target, online, tau):
        for p, q in zip(target.parameters(), online.parameters()):
            p.mul_(tau).add_(q, alpha=1 - tau)  # culprit raises
    # %%
    import copy
    from ema import update
    online = nn.Linear(2, 1)
    target = copy.deepcopy(online)
    opt, x = optim.SGD(online.parameters(), lr=0.1), torch.randn(3, 2)
    # %%
    for epoch in range(2):
        opt.zero_grad()
        loss = (online(x) - target(x).detach() + 1).pow(2).mean()
        loss.backward()
        opt.step()
        update(target, online, 0.9)
    """,
    fix(
        "        p.mul_(tau).add_(q, alpha=1 - tau)",
        "        p.data.mul_(tau).add_(q.data, alpha=1 - tau)",
    ),
    result="[*online.parameters(), *target.parameters()]",
    message=LEAF,
    without_gradient=("target.weight", "target.bias"),
)
program(
    "descent by hand in a while loop",
    ("w",),
    """
    # %%
    def minimise(x, y, lr):
        w = torch.zeros(2, requires_grad=True)
        b = torch.zeros(1, requires_grad=True)
        steps = 0
        while steps < 3:
            loss = (x @ w + b - y).pow(2).mean()
            loss.backward()
            w -= lr * w.grad  # culprit raises
            b -= lr * b.grad
            w.grad.zero_()
            b.grad.zero_()
            steps += 1
        return w, b
    x, y = torch.randn(5, 2), torch.randn(5)
    # %%
    w, b = minimise(x, y, 0.1)
    """,
    fix(
        "        w -= lr * w.grad\n        b -= lr * b.grad\n",
        "        with torch.no_grad():\n"
        "            w -= lr * w.grad\n"
        "            b -= lr * b.grad\n",
    ),
    result="[w, b]",
    message=LEAF,
)
program(
    "weight normalised in the forward",
    ("self.weight", "model.weight", "weight"),
    """
    # %% cosine.py
    import torch
    from torch import nn

    class Cosine(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(b, a))

        def forward(self, x):
            self.weight /= self.weight.norm(dim=1, keepdim=True)  # culprit raises
            return x @ self.weight.t()
    # %%
    from cosine import Cosine
    model, x = Cosine(3, 2), torch.randn(4, 3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = model(x).pow(2).sum()
        loss.backward()
        optimizer.step()
    """,
    fix(
        "        self.weight /= self.weight.norm(dim=1, keepdim=True)\n",
        "        with torch.no_grad():\n"
        "            self.weight /= self.weight.norm(dim=1, keepdim=True)\n",
    ),
    result="list(model.parameters())",
    also_right=(
        (
            ("        self.weight /= self.weight.norm(dim=1, keepdim=True)\n", ""),
            ("self.weight.t()", "(self.weight / self.weight.norm(dim=1, keepdim=True)).t()"),
        ),
    ),
    message=LEAF,
)
program(
    "padding of an embedding set to zero",
    ("self.table.weight", "table.weight", "model.table.weight"),
    """
    # %% words.py
    from torch import nn

    class Words(nn.Module):
        def __init__(self, n, width):
            super().__init__()
            self.table = nn.Embedding(n, width)
            self.table.weight[0] = 0.0  # culprit raises

        def forward(self, tokens):
            return self.table(tokens).sum(dim=1)
    # %%
    from words import Words
    tokens = torch.tensor([[0, 1], [2, 0]])
    # %%
    torch.manual_seed(4)
    model = Words(4, 3)
    loss = model(tokens).pow(2).sum()
    loss.backward()
    """,
    (("self.table.weight[0] = 0.0", "self.table.weight.data[0] = 0.0"),),
    message=LEAF,
)
program(
    "initial values drawn in place",
    ("m.weight", "model.0.weight", "0.weight", "model[0].weight"),
    """
    # %% init.py
    from torch import nn

    def draw(m):
        if isinstance(m, nn.Linear):
            m.weight.normal_(0, 0.02)  # culprit raises
            m.bias.zero_()
    # %%
    from init import draw
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1))
    x = torch.randn(4, 3)
    torch.manual_seed(5)
    # %%
    model.apply(draw)
    loss = model(x).sum()
    loss.backward()
    """,
    fix(
        "m.weight.normal_(0, 0.02)",
        "m.weight.data.normal_(0, 0.02)",
        "m.bias.zero_()",
        "m.bias.data.zero_()",
    ),
    message=LEAF,
)
program(
    "image moved and clamped in an attack",
    ("image", "x", "adv"),
    """
    # %% attack.py
    import torch

    def attack(model, image, label, eps, steps):
        adv = image.clone().requires_grad_()
        for _ in range(steps):
            loss = torch.nn.functional.cross_entropy(model(adv), label)
            (grad,) = torch.autograd.grad(loss, [adv])
            adv += eps * grad.sign()  # culprit raises
            adv.clamp_(0, 1)
        return adv.detach()
    # %%
    from attack import attack
    model = nn.Linear(4, 3)
    image, label = torch.rand(2, 4), torch.tensor([0, 2])
    # %%
    adv = attack(model, image, label, 0.1, 3)
    """,
    fix(
        "        adv += eps * grad.sign()\n        adv.clamp_(0, 1)\n",
        "        with torch.no_grad():\n            adv += eps * grad.sign()\n"
        "            adv.clamp_(0, 1)\n",
    ),
    result="[adv]",
    message=LEAF,
)
program(
    "colours painted on a learned canvas",
    ("out", "self.canvas", "model.canvas", "canvas"),
    """
    # %% canvas.py
    import torch
    from torch import nn

    class Canvas(nn.Module):
        def __init__(self):
            super().__init__()
            self.canvas = nn.Parameter(torch.zeros(3, 2))
            self.colour = nn.Linear(2, 2)

        def forward(self, rows, z):
            out = self.canvas
            out[rows] = self.colour(z)  # culprit raises
            return torch.sigmoid(out)
    # %%
    from canvas import Canvas
    model, z, rows = Canvas(), torch.randn(2, 2), torch.tensor([0, 2])
    # %%
    loss = model(rows, z).pow(2).sum()
    loss.backward()
    """,
    (("out = self.canvas", "out = self.canvas.clone()"),),
    message=LEAF,
)
program(
    "learned first state of a loop",
    ("h", "self.h0", "model.h0", "h0"),
    """
    # %% loop.py
    import torch
    from torch import nn

    class Loop(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.h0 = nn.Parameter(torch.zeros(n))
            self.cell = nn.Linear(n, n)

        def forward(self, x):
            h = self.h0
            for row in x:
                h += torch.tanh(self.cell(row + h))  # culprit raises
            return h
    # %%
    from loop import Loop
    model, x = Loop(3), torch.randn(3, 3)
    # %%
    loss = model(x).pow(2).sum()
    loss.backward()
    """,
    (("h += torch.tanh(self.cell(row + h))", "h = h + torch.tanh(self.cell(row + h))"),),
    message=LEAF,
)
program(
    "pruning mask multiplied into a weight",
    ("weight", "self.weight", "model.weight"),
    """
    # %% prune.py
    import torch
    from torch import nn

    class Pruned(nn.Module):
        def __init__(self, mask):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(mask.shape))
            self.register_buffer("mask", mask)

        def forward(self, x):
            weight = self.weight
            weight *= self.mask  # culprit raises
            return x @ weight
    # %%
    from prune import Pruned
    model, x = Pruned(torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])), torch.randn(4, 3)
    # %%
    loss = model(x).pow(2).sum()
    loss.backward()
    """,
    (("weight *= self.mask", "weight = weight * self.mask"),),
    message=LEAF,
)
program(
    "temperature clamped in the forward",
    ("self.temperature", "model.temperature", "temperature"),
    """
    # %% clip.py
    import torch
    from torch import nn

    class Clip(nn.Module):
        def __init__(self):
            super().__init__()
            self.temperature = nn.Parameter(torch.tensor(5.0))
            self.a = nn.Linear(3, 2)

        def forward(self, x):
            self.temperature.clamp_(0.01, 4.0)  # culprit raises
            return (self.a(x) * self.temperature).softmax(dim=1)
    # %%
    from clip import Clip
    model, x = Clip(), torch.randn(4, 3)
    # %%
    loss = model(x)[:, 0].sum()
    loss.backward()
    """,
    fix(
        "        self.temperature.clamp_(0.01, 4.0)\n",
        "        with torch.no_grad():\n            self.temperature.clamp_(0.01, 4.0)\n",
    ),
    message=LEAF,
)
program(
    "perceptron updated without gradients",
    ("self.w", "model.w", "w"),
    """
    # %%
    class Perceptron:
        def __init__(self, n):
            self.w = torch.zeros(n, requires_grad=True)

        def learn(self, x, y):
            if torch.sign(x @ self.w) != y:
                self.w += y * x  # culprit raises
    model, xs, ys = Perceptron(2), torch.randn(4, 2), torch.tensor([1.0, -1.0, 1.0, -1.0])
    # %%
    for x, y in zip(xs, ys):
        model.learn(x, y)
    """,
    (("self.w += y * x", "self.w.data += y * x"),),
    result="[model.w]",
    message=LEAF,
)
program(
    "code vectors moved to means",
    ("self.codes", "model.codes", "codes"),
    """
    # %% vq.py
    import torch
    from torch import nn

    class Codes(nn.Module):
        def __init__(self, k, n):
            super().__init__()
            self.codes = nn.Parameter(torch.randn(k, n))

        def forward(self, z):
            nearest = torch.cdist(z, self.codes).argmin(dim=1)
            for k in range(len(self.codes)):
                if (nearest == k).any():
                    self.codes[k] = z[nearest == k].mean(dim=0).detach()  # culprit raises
            return self.codes[nearest]
    # %%
    from vq import Codes
    encoder, model = nn.Linear(3, 2), Codes(3, 2)
    x = torch.randn(6, 3)
    # %%
    z = encoder(x)
    loss = (model(z.detach()) - z).pow(2).mean()
    loss.backward()
    """,
    fix(
        "self.codes[k] = z[nearest == k].mean(dim=0).detach()",
        "self.codes.data[k] = z[nearest == k].mean(dim=0).detach()",
    ),
    result="[p.grad for p in [*encoder.parameters(), *model.parameters()]]",
    message=LEAF,
)

# --- of the same families --------------------------------------------------------------------

program(
    "columns of a tensor that are read again",
    ("hs",),
    """
    # %% rnn.py
    import torch
    from torch import nn

    class Rnn(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.cell = nn.Linear(n, n)

        def forward(self, x):
            batch, length, n = x.shape
            hs = torch.zeros(batch, length + 1, n)
            for t in range(length):
                hs[:, t + 1] = torch.tanh(x[:, t] + self.cell(hs[:, t]))  # culprit
            return hs[:, 1:]
    # %%
    from rnn import Rnn
    model, x = Rnn(2), torch.randn(3, 4, 2)
    # %%
    loss = model(x).pow(2).mean()
    loss.backward()  # raises
    """,
    fix(
        "hs = torch.zeros(batch, length + 1, n)",
        "hs = [torch.zeros(batch, n)]",
        "hs[:, t + 1] = torch.tanh(x[:, t] + self.cell(hs[:, t]))",
        "hs.append(torch.tanh(x[:, t] + self.cell(hs[t])))",
        "return hs[:, 1:]",
        "return torch.stack(hs, dim=1)[:, 1:]",
    ),
    message=SAVED,
)
program(
    "gradient step kept in a helper, the forward before the loop",
    ("w", "p", "params[0]"),
    """
    # %% descent.py
    import torch

    def apply(params, lr):
        with torch.no_grad():
            for p in params:
                p.sub_(lr * p.grad)
                p.grad = None
    # %%
    from descent import apply
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.5, 1.0]])
    # %%
    scores = torch.sin(x @ w.pow(3))  # culprit
    for epoch in range(2):
        loss = scores.pow(2).sum()
        loss.backward(retain_graph=True)  # raises
        apply([w], 0.05)
    """,
    fix(
        "scores = torch.sin(x @ w.pow(3))\n",
        "",
        "    loss = scores.pow(2).sum()",
        "    scores = torch.sin(x @ w.pow(3))\n    loss = scores.pow(2).sum()",
    ),
    result="[w]",
    message=SAVED,
)
program(
    "input normalised in place by the model, read again by the loop",
    ("x", "h"),
    """
    # %% net.py
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 3)

        def forward(self, x):
            y = self.a(x)
            x -= x.mean(dim=0)  # culprit
            return y * x
    # %%
    from net import Net
    model, x = Net(), torch.randn(4, 3)
    # %%
    for epoch in range(2):
        loss = model(x).sum()
        loss.backward()  # raises
    """,
    (("x -= x.mean(dim=0)", "x = x - x.mean(dim=0)"),),
    message=SAVED,
)
program(
    "momentum kept in place between two losses",
    ("self.velocity", "tracker.velocity", "velocity"),
    """
    # %% tracker.py
    import torch

    class Tracker:
        def __init__(self, n):
            self.velocity = torch.ones(n)

        def penalty(self, w):
            return (w * self.velocity).sum()

        def observe(self, g):
            self.velocity.mul_(0.9).add_(g)  # culprit
    # %%
    from tracker import Tracker
    w = torch.ones(3, requires_grad=True)
    tracker = Tracker(3)
    # %%
    total = 0
    for g in torch.eye(3):
        total = total + tracker.penalty(w)
        tracker.observe(g)
    total.backward()  # raises
    """,
    fix("self.velocity.mul_(0.9).add_(g)", "self.velocity = self.velocity.mul(0.9).add(g)"),
    result="[w.grad]",
    message=SAVED,
)
program(
    "beams divided by their norm in a generator",
    ("scaled",),
    """
    # %%
    def normalise(rows):
        for row in rows:
            scaled = torch.exp(row)
            scaled /= scaled.sum()  # culprit
            yield scaled

    def entropy(rows):
        return sum(-(p * p.log()).sum() for p in normalise(rows))
    model, x = nn.Linear(3, 4), torch.randn(2, 3)
    # %%
    loss = entropy(model(x))
    loss.backward()  # raises
    """,
    (("scaled /= scaled.sum()", "scaled = scaled / scaled.sum()"),),
    message=SAVED,
)
program(
    "target network's weights read by a pending loss",
    ("p", "target.2.weight", "target.0.weight", "target[2].weight"),
    """
    # %%
    def sync(target, online, tau):
        with torch.no_grad():
            for p, q in zip(target.parameters(), online.parameters()):
                p.lerp_(q, tau)  # culprit

    def mlp():
        return nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    online, target = mlp(), mlp()
    x = torch.randn(4, 2)
    # %%
    loss = (online(x) - target(x)).pow(2).mean()
    sync(target, online, 0.1)
    loss.backward()  # raises
    """,
    fix(
        "sync(target, online, 0.1)\n",
        "",
        "loss.backward()",
        "loss.backward()\nsync(target, online, 0.1)",
    ),
    result="[*online.parameters(), *target.parameters(), *(p.grad for p in online.parameters())]",
    message=SAVED,
)
program(
    "noise added to weights by a function",
    ("model.weight", "w", "layer.weight"),
    """
    # %% noise.py
    import torch

    def perturb(layer, noise):
        layer.weight.add_(noise)  # culprit raises
        return layer
    # %%
    from noise import perturb
    model, x, noise = nn.Linear(2, 1), torch.randn(3, 2), torch.ones(1, 2)
    # %%
    loss = perturb(model, noise)(x).sum()
    loss.backward()
    """,
    (("layer.weight.add_(noise)", "layer.weight.data.add_(noise)"),),
    result="[*model.parameters(), *(p.grad for p in model.parameters())]",
    message=LEAF,
)
program(
    "query tokens joined with a prompt in place",
    ("tokens", "self.prompt", "model.prompt"),
    """
    # %% prompt.py
    import torch
    from torch import nn

    def add(tokens, features):
        tokens += features  # culprit raises
        return tokens

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.prompt = nn.Parameter(torch.randn(2, 3))
            self.image = nn.Linear(4, 3)

        def forward(self, x):
            return add(self.prompt, self.image(x)).tanh().sum()
    # %%
    from prompt import Model
    model, x = Model(), torch.randn(2, 4)
    # %%
    loss = model(x)
    loss.backward()
    """,
    (("tokens += features", "tokens = tokens + features"),),
    message=LEAF,
)

program(
    "shadow weights are the weights themselves",
    ("model.0.weight", "model.2.weight", "model.2.bias", "shadow", "weight"),
    """
    # %% shadow.py
    import torch

    class Shadow:
        def __init__(self, model, rate):
            self.rate = rate
            self.kept = list(model.parameters())

        @torch.no_grad()
        def follow(self, model):
            for shadow, weight in zip(self.kept, model.parameters()):
                shadow.mul_(1 - self.rate).add_(weight, alpha=self.rate)  # culprit
    # %%
    from shadow import Shadow
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    shadow = Shadow(model, 0.25)
    x = torch.randn(4, 2)
    # %%
    loss = model(x).pow(2).mean()
    shadow.follow(model)
    loss.backward()  # raises
    """,
    fix(
        "self.kept = list(model.parameters())",
        "self.kept = [p.clone() for p in model.parameters()]",
    ),
    message=SAVED,
    without_fix=True,
)
program(
    "vector of a power iteration is written with a graph",
    ("model.u", "self.u", "u"),
    """
    # %%
    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(3, 3))
            self.register_buffer("u", torch.ones(3) / 3**0.5)

        def forward(self, x):
            v = F.normalize(self.w.t() @ self.u, dim=0)
            self.u.copy_(F.normalize(self.w @ v, dim=0))  # culprit
            return x @ (self.w / (self.u @ self.w @ v)).t()

    model, x = Normed(), torch.randn(4, 3)
    # %%
    loss = model(x).pow(2).mean()
    loss.backward()  # raises
    """,
    fix(
        "        v = F.normalize(self.w.t() @ self.u, dim=0)\n"
        "        self.u.copy_(F.normalize(self.w @ v, dim=0))",
        "        with torch.no_grad():\n"
        "            v = F.normalize(self.w.t() @ self.u, dim=0)\n"
        "            self.u.copy_(F.normalize(self.w @ v, dim=0))",
    ),
    message=SAVED,
    without_fix=True,
)

program(
    "steps of a sequence are centred in a loop over unbind",
    ("step",),
    """
    # %%
    model, x = nn.Linear(4, 4), torch.randn(2, 3, 4)
    # %%
    h = model(x).view(2, 3, 4)
    for step in torch.unbind(h, dim=1):  # culprit
        step -= step.mean(1, keepdim=True)  # culprit raises
    h.pow(2).mean().backward()
    """,
    fix(
        "for step in torch.unbind(h, dim=1):\n    step -= step.mean(1, keepdim=True)",
        "h = h - h.mean(2, keepdim=True)",
    ),
    message=VIEWS,
)
