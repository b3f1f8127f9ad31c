"""Programs of several files and cells in which something keeps a graph that backward has freed."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.ledger.bug import explained, fix

MESSAGE: Final = "backward through the graph a second time"
program = partial(explained, "explained: graph freed", message=MESSAGE)

# --- kept as data for later turns ------------------------------------------------------------

program(
    "old log-probabilities in a list of transitions",
    ("memory.rows[0][1]", "rows[0][1]", "memory.rows", "self.rows", "logp", "row[1]", "old"),
    """
    # %% policy.py
    import torch
    from torch import nn

    class Memory:
        def __init__(self):
            self.rows = []

        def fill(self, policy, states):
            for state in states:
                logp = policy(state).log_softmax(-1)
                self.rows.append((state, logp))  # culprit

    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(3, 2)

        def forward(self, x):
            return torch.tanh(self.head(x))
    # %%
    from policy import Memory, Policy
    model, states = Policy(), torch.randn(3, 3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    memory = Memory()
    memory.fill(model, states)
    for epoch in range(2):
        optimizer.zero_grad()
        loss = 0.0
        for state, old in memory.rows:
            ratio = (model(state).log_softmax(-1) - old).exp()
            loss = loss - ratio[0]
        loss.backward()  # raises
        optimizer.step()
    """,
    (("(state, logp)", "(state, logp.detach())"),),
)
program(
    "values stored by a method that is given them",
    ("store.values[0]", "store.values", "self.values", "value"),
    """
    # %% store.py
    from torch import nn

    class Store:
        def __init__(self):
            self.values = []

        def put(self, value):
            self.values.append(value)  # culprit
    # %%
    from store import Store
    model, states, returns = nn.Linear(3, 1), torch.randn(4, 3), torch.randn(4, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    store = Store()
    for state in states:
        store.put(model(state))  # culprit
    for epoch in range(2):
        optimizer.zero_grad()
        before = torch.stack(store.values)
        after = model(states)
        near = before + (after - before).clamp(-0.2, 0.2)
        loss = torch.max((after - returns).pow(2), (near - returns).pow(2)).mean()
        loss.backward()  # raises
        optimizer.step()
    """,
    (("self.values.append(value)", "self.values.append(value.detach())"),),
    without_fix=True,
)
program(
    "cells kept in slots of a dict",
    ("pool.cells[0]", "self.cells[0]", "pool.cells", "self.cells[key]", "cells"),
    """
    # %% grid.py
    import torch
    from torch import nn

    class Pool:
        def __init__(self, size):
            self.cells = {key: torch.zeros(1, 3) for key in range(size)}

        def take(self, key):
            return self.cells[key]

        def give(self, key, grid):
            self.cells[key] = grid  # culprit

    class Rule(nn.Module):
        def __init__(self):
            super().__init__()
            self.change = nn.Linear(3, 3)

        def forward(self, grid):
            return grid + torch.tanh(self.change(grid))
    # %%
    from grid import Pool, Rule
    model, pool, wanted = Rule(), Pool(2), torch.randn(1, 3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    for turn in range(4):
        grid = model(pool.take(turn % 2))
        loss = F.mse_loss(grid, wanted)
        optimizer.zero_grad()
        loss.backward()  # raises
        optimizer.step()
        pool.give(turn % 2, grid)
    """,
    (("self.cells[key] = grid", "self.cells[key] = grid.detach()"),),
)
program(
    "embeddings of nodes kept by their number",
    ("table[0]", "table", "table[node]", "z"),
    """
    # %%
    model, x = nn.Linear(3, 3), torch.randn(4, 3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    near = {0: 1, 1: 2, 2: 3, 3: 0}
    # %%
    table = {}
    for epoch in range(2):
        for node in range(4):
            z = torch.tanh(model(x[node]))
            if near[node] in table:
                z = z + 0.5 * table[near[node]]
            loss = z.pow(2).sum()
            optimizer.zero_grad()
            loss.backward()  # raises
            optimizer.step()
            table[node] = z  # culprit
    """,
    (("table[node] = z", "table[node] = z.detach()"),),
)
program(
    "queue of keys in a deque",
    ("queue[0]", "queue", "k", "keys"),
    """
    # %% contrast.py
    from collections import deque
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.project = nn.Linear(4, 3)

        def forward(self, x):
            return nn.functional.normalize(self.project(x), dim=-1)
    # %%
    from collections import deque
    from contrast import Encoder
    model, batches = Encoder(), torch.randn(4, 2, 4)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    queue = deque([torch.ones(2, 3)], maxlen=3)
    # %%
    for batch in batches:
        q, k = model(batch), model(batch + 0.1)
        negatives = torch.cat(list(queue))
        logits = torch.cat([(q * k).sum(-1, keepdim=True), q @ negatives.T], dim=1)
        loss = F.cross_entropy(logits, torch.zeros(2, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()  # raises
        optimizer.step()
        queue.append(k)  # culprit
    """,
    (("queue.append(k)", "queue.append(k.detach())"),),
)
program(
    "last output kept as an attribute of a plain object",
    ("tracker.last", "self.last"),
    """
    # %% tracker.py
    class Tracker:
        def __init__(self, last):
            self.last = last

        def jump(self, output):
            moved = (output - self.last).pow(2).mean()
            self.last = output  # culprit
            return moved
    # %%
    from tracker import Tracker
    model, xs = nn.Sequential(nn.Linear(2, 3), nn.Tanh()), torch.randn(3, 4, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    tracker = Tracker(torch.zeros(4, 3))
    # %%
    for x in xs:
        output = model(x)
        loss = output.pow(2).mean() + tracker.jump(output)
        optimizer.zero_grad()
        loss.backward()  # raises
        optimizer.step()
    """,
    (("self.last = output", "self.last = output.detach()"),),
)

# --- a container that grows ------------------------------------------------------------------

program(
    "forward hook fills a list that nobody empties",
    ("probe.seen[0]", "self.seen", "probe.seen", "output"),
    """
    # %% probe.py
    class Probe:
        def __init__(self, module):
            self.seen = []
            module.register_forward_hook(self.keep)

        def keep(self, module, given, output):
            self.seen.append(output)  # culprit

        def size(self):
            return sum(one.abs().mean() for one in self.seen)
    # %%
    from probe import Probe
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    probe = Probe(model[1])
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    xs, labels = torch.randn(3, 5, 3), torch.tensor([0, 1, 1, 0, 1])
    # %%
    for x in xs:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels) + 0.1 * probe.size()
        loss.backward()  # raises
        optimizer.step()
    """,
    (("    optimizer.step()", "    optimizer.step()\n    probe.seen.clear()"),),
)
program(
    "list of losses goes backward as a sum",
    ("losses[0]", "losses", "loss"),
    """
    # %%
    model, xs = nn.Linear(3, 1), torch.randn(3, 4, 3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    losses = []
    for x in xs:
        loss = model(x).pow(2).mean()
        losses.append(loss)  # culprit
        optimizer.zero_grad()
        total = sum(losses)
        total.backward()  # raises
        optimizer.step()
    """,
    (("    optimizer.step()", "    optimizer.step()\n    losses.clear()"),),
)
program(
    "auxiliary losses collected in the module",
    ("model.penalties[0]", "self.penalties", "model.penalties"),
    """
    # %% experts.py
    from torch import nn

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate, self.out = nn.Linear(3, 2), nn.Linear(3, 2)
            self.penalties = []

        def forward(self, x):
            weights = self.gate(x).softmax(-1)
            self.penalties.append(weights.mean(0).pow(2).sum())  # culprit
            return weights * self.out(x)
    # %%
    from experts import Experts
    model, xs, y = Experts(), torch.randn(3, 4, 3), torch.randn(4, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    for x in xs:
        loss = F.mse_loss(model(x), y)
        for penalty in model.penalties:
            loss = loss + 0.01 * penalty
        optimizer.zero_grad()
        loss.backward()  # raises
        optimizer.step()
    """,
    (("    optimizer.step()", "    optimizer.step()\n    model.penalties.clear()"),),
)

# --- computed outside what runs again --------------------------------------------------------

program(
    "closure of LBFGS in a loop reads a prediction from outside",
    ("guess",),
    """
    # %% curve.py
    import torch
    from torch import nn

    class Wave(nn.Module):
        def __init__(self):
            super().__init__()
            self.height = nn.Parameter(torch.ones(1))

        def forward(self, t):
            return self.height * torch.sin(t)

    def fit(model, t, y, rounds):
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)
        guess = model(t)  # culprit

        def closure():
            optimizer.zero_grad()
            loss = (guess - y).pow(2).mean()
            loss.backward()  # raises
            return loss

        for _ in range(rounds):
            optimizer.step(closure)
    # %%
    from curve import Wave, fit
    model, t = Wave(), torch.linspace(0, 3, 6)
    # %%
    fit(model, t, 2 * torch.sin(t), 2)
    """,
    fix(
        "    guess = model(t)\n",
        "",
        "        loss = (guess",
        "        guess = model(t)\n        loss = (guess",
    ),
    result="list(model.parameters())",
)
program(
    "closure of a single step reads a prediction from outside",
    ("out",),
    """
    # %%
    model, x, y = nn.Linear(2, 1), torch.randn(5, 2), torch.randn(5, 1)
    optimizer = optim.LBFGS(model.parameters(), max_iter=3)
    # %%
    out = model(x)  # culprit
    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(out, y)
        loss.backward()  # raises
        return loss
    optimizer.step(closure)
    """,
    (("out = model(x)\n", ""), ("    loss = F", "    out = model(x)\n    loss = F")),
    result="list(model.parameters())",
)
program(
    "closure that computes the loss of a regularised prediction",
    ("p", "penalty"),
    """
    # %% trainer.py
    import torch
    from torch import nn

    class Trainer:
        def __init__(self, model):
            self.model = model
            self.optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)

        def step(self, x, y):
            penalty = sum(w.pow(2).sum() for w in self.model.parameters())  # culprit

            def closure():
                self.optimizer.zero_grad()
                loss = nn.functional.mse_loss(self.model(x), y) + 0.1 * penalty
                loss.backward()  # raises
                return loss

            self.optimizer.step(closure)
            return float(penalty)
    # %%
    from trainer import Trainer
    model, x, y = nn.Linear(2, 1), torch.randn(5, 2), torch.randn(5, 1)
    trainer = Trainer(model)
    # %%
    trainer.step(x, y)
    """,
    fix(
        "            loss = nn",
        "            penalty = sum(w.pow(2).sum() for w in self.model.parameters())\n"
        "            loss = nn",
    ),
    result="list(model.parameters())",
)
program(
    "context of a sequence encoded before the loop over targets",
    ("context",),
    """
    # %% seq.py
    import torch
    from torch import nn

    class Seq(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = nn.Linear(3, 2), nn.Linear(2, 1)

    def train(model, x, targets):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        context = torch.tanh(model.encode(x))  # culprit
        for target in targets:
            optimizer.zero_grad()
            loss = (model.decode(context) - target).pow(2).mean()
            loss.backward()  # raises
            optimizer.step()
    # %%
    from seq import Seq, train
    model, x = Seq(), torch.randn(4, 3)
    # %%
    train(model, x, [0.0, 1.0, 2.0])
    """,
    fix(
        "    context = torch.tanh(model.encode(x))\n",
        "",
        "        loss = (model",
        "        context = torch.tanh(model.encode(x))\n        loss = (model",
    ),
)

# --- where no change is known to be right ----------------------------------------------------

program(
    "features with dropout before the loop",
    ("features",),
    """
    # %%
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
    x, y = torch.randn(4, 3), torch.randn(4, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    features = model[:2](x)  # culprit
    for step in range(2):
        optimizer.zero_grad()
        loss = F.mse_loss(model[2](features), y)
        loss.backward()  # raises
        optimizer.step()
    """,
    (("features = model[:2](x)", "features = model[:2](x).detach()"),),
    without_fix=True,
    without_gradient=("model.0.weight", "model.0.bias"),
)
program(
    "critic learns from stored values only",
    ("values[0]", "values"),
    """
    # %%
    model, states, returns = nn.Linear(3, 1), torch.randn(4, 3), torch.randn(4)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    values = []
    # %%
    for state in states:
        values.append(model(state).squeeze())  # culprit
    for epoch in range(2):
        optimizer.zero_grad()
        loss = sum((v - r) ** 2 for v, r in zip(values, returns))
        loss.backward()  # raises
        optimizer.step()
    """,
    fix(
        "sum((v - r) ** 2 for v, r in zip(values, returns))",
        "sum((model(s).squeeze() - r) ** 2 for s, r in zip(states, returns))",
    ),
    without_fix=True,
)
program(
    "values pushed as records with their states",
    ("buffer.items[0].value", "buffer.items", "self.items", "value"),
    """
    # %% rollout.py
    from dataclasses import dataclass
    import torch

    @dataclass
    class Item:
        state: torch.Tensor
        wanted: torch.Tensor
        value: torch.Tensor

    class Buffer:
        def __init__(self):
            self.items = []

        def push(self, state, wanted, value):
            self.items.append(Item(state, wanted, value))

        def collect(self, critic, states, wanted):
            for state, one in zip(states, wanted):
                self.push(state, one, critic(state))  # culprit
    # %%
    from rollout import Buffer
    model, states, wanted = nn.Linear(3, 1), torch.randn(3, 3), torch.randn(3, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    buffer = Buffer()
    buffer.collect(model, states, wanted)
    for epoch in range(2):
        optimizer.zero_grad()
        loss = 0.0
        for item in buffer.items:
            near = item.value + (model(item.state) - item.value).clamp(-0.2, 0.2)
            loss = loss + (near - item.wanted).pow(2).sum()
        loss.backward()  # raises
        optimizer.step()
    """,
    (("critic(state))", "critic(state).detach())"),),
)
program(
    "prototypes of classes in a list of pairs",
    ("prototypes[0][1]", "prototypes"),
    """
    # %%
    model, support, query = nn.Linear(3, 2), torch.randn(2, 4, 3), torch.randn(5, 3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    prototypes = []
    for label in range(2):
        prototypes.append((label, model(support[label]).mean(0)))  # culprit
    for step in range(2):
        optimizer.zero_grad()
        far = [(model(query) - mean).pow(2).sum(-1) for _, mean in prototypes]
        loss = F.cross_entropy(-torch.stack(far, 1), torch.tensor([0, 1, 1, 0, 1]))
        loss.backward()  # raises
        optimizer.step()
    """,
    fix("for _, mean in prototypes]", "for mean in [model(one).mean(0) for one in support]]"),
    without_fix=True,
)
program(
    "features of this turn are compared with those of all turns",
    ("bank[0]", "bank", "z"),
    """
    # %%
    model, xs = nn.Sequential(nn.Linear(3, 2), nn.Tanh()), torch.randn(3, 4, 3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    bank = []
    # %%
    for x in xs:
        z = model(x)
        bank.append(z)  # culprit
        loss = (z @ torch.cat(bank).T).logsumexp(1).mean()
        optimizer.zero_grad()
        loss.backward()  # raises
        optimizer.step()
    """,
    fix("bank.append(z)", "bank.append(z.detach())"),
    without_fix=True,
)

# --- averages through which gradients may be meant -------------------------------------------

for _name, _average, _loss in (
    ("average of losses is a term of the loss", "term = F.mse_loss(model(x), y)", "term + average"),
    ("mixture of hidden states", "term = model(x)", "F.mse_loss(term.tanh() + average, y)"),
):
    program(
        _name,
        ("average",),
        f"""
        # %%
        model, x, y = nn.Linear(3, 1), torch.randn(4, 3), torch.randn(4, 1)
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        # %%
        average = torch.zeros(())
        for step in range(3):
            optimizer.zero_grad()
            {_average}
            average = 0.9 * average + 0.1 * term.square()  # culprit
            loss = {_loss}
            loss.backward()  # raises
            optimizer.step()
        """,
        (("0.9 * average", "0.9 * average.detach()"),),
        without_fix=True,
    )
program(
    "number of a total is kept",
    ("total",),
    """
    # %%
    model, x, y = nn.Linear(3, 1), torch.randn(4, 3), torch.randn(4, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    total, seen = 0.0, []
    for step in range(3):
        optimizer.zero_grad()
        total += F.mse_loss(model(x), y)  # culprit
        total.backward()  # raises
        optimizer.step()
        seen.append(float(total.detach()))
    """,
    fix(
        "total += F.mse_loss(model(x), y)\n    total.backward()",
        "loss = F.mse_loss(model(x), y)\n    total += loss.detach()\n    loss.backward()",
    ),
    without_fix=True,
)
program(
    "advantage trains the critic first",
    ("adv", "actor_loss"),
    """
    # %%
    actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
    s, r = torch.randn(5, 4), torch.randn(5)
    optimizers = [optim.SGD(one.parameters(), lr=0.1) for one in (actor, critic)]
    # %%
    adv = r - critic(s).squeeze(-1)
    logp = F.log_softmax(actor(s), 1)[:, 0]
    critic_loss = adv.pow(2).mean()  # culprit
    critic_loss.backward()  # culprit
    optimizers[1].step()
    actor_loss = -(logp * adv).mean()
    actor_loss.backward()  # raises
    optimizers[0].step()
    """,
    (("logp * adv", "logp * adv.detach()"),),
    result="[*actor.parameters(), *critic.parameters()]",
    without_gradient=("critic.weight", "critic.bias"),
)

program(
    "two running statistics keep the graph",
    ("model.1.mean", "model.1.var", "self.mean"),
    """
    # %%
    class Norm(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.register_buffer("mean", torch.zeros(d))
            self.register_buffer("var", torch.ones(d))

        def forward(self, x):
            out = (x - self.mean) / torch.sqrt(self.var + 1e-5)
            self.mean *= 0.9
            self.mean += 0.1 * x.mean(0)  # culprit
            self.var *= 0.9
            self.var += 0.1 * x.var(0)  # culprit
            return out

    model = nn.Sequential(nn.Linear(3, 3), Norm(3), nn.Linear(3, 1))
    x, y = torch.randn(6, 3), torch.randn(6, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    for epoch in range(3):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()  # raises
        optimizer.step()
    """,
    fix("x.mean(0)", "x.detach().mean(0)", "x.var(0)", "x.detach().var(0)"),
    result="model.parameters()",
)

program(
    "gradient of each row of a batch",
    ("l", "losses"),
    """
    # %%
    model, x = nn.Linear(3, 1), torch.randn(4, 3)
    # %%
    losses = torch.tanh(model(x)).pow(2).squeeze(1)
    rows = []
    for l in losses:
        rows.append(torch.autograd.grad(l, model.weight)[0])  # culprit raises
    """,
    (("model.weight)", "model.weight, retain_graph=True)"),),
    result="rows",
)
