"""Backward runs a second time through a graph that an earlier backward has freed."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "graph freed"
MESSAGE = "backward through the graph a second time"

bug(
    "features computed once before the loop",
    FAMILY,
    """
    # %% net.py
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
            self.head = nn.Linear(3, 2)

        def forward(self, x):
            return self.head(self.encoder(x))
    # %%
    from net import Net
    model = Net()
    x, labels = torch.randn(6, 4), torch.tensor([0, 1, 1, 0, 1, 0])
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss()
    # %%
    features = model.encoder(x)  # culprit
    for epoch in range(3):
        optimizer.zero_grad()
        loss = criterion(model.head(features), labels)
        loss.backward()  # raises
        optimizer.step()
    """,
    fix(
        "features = model.encoder(x)\n",
        "",
        "    loss = criterion(",
        "    features = model.encoder(x)\n    loss = criterion(",
    ),
    reference="""
    for epoch in range(3):
        optimizer.zero_grad()
        accumulate(lambda: criterion(model(x), labels), model.parameters())
        optimizer.step()
    """,
    variables=("features",),
    message=MESSAGE,
)
bug(
    "hidden state carried to the next batch",
    FAMILY,
    """
    # %% charrnn.py
    from torch import nn


    class CharRnn(nn.Module):
        def __init__(self, vocabulary, hidden):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, 2)
            self.rnn = nn.RNN(2, hidden, batch_first=True)
            self.out = nn.Linear(hidden, vocabulary)

        def forward(self, tokens, h=None):
            states, h = self.rnn(self.embedding(tokens), h)
            return self.out(states), h
    # %%
    from charrnn import CharRnn
    model = CharRnn(4, 3)
    text = torch.randint(4, (2, 10))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    h = None
    for start in range(0, 9, 3):
        inputs, targets = text[:, start : start + 3], text[:, start + 1 : start + 4]
        logits, h = model(inputs, h)  # culprit
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()  # raises
        optimizer.step()
    """,
    (("    loss.backward()", "    loss.backward()\n    h = h.detach()"),),
    fix(
        "logits, h = model(inputs, h)", "logits, h = model(inputs, h if h is None else h.detach())"
    ),
    reference="""
    h = None
    for start in range(0, 9, 3):
        inputs, targets = text[:, start : start + 3], text[:, start + 1 : start + 4]
        optimizer.zero_grad()
        _, after = model(inputs, h)
        accumulate(
            lambda: F.cross_entropy(model(inputs, h)[0].flatten(0, 1), targets.flatten()),
            model.parameters(),
        )
        h = after.detach()
        optimizer.step()
    """,
    variables=("h",),
    message=MESSAGE,
)
bug(
    "state kept as an attribute of the module",
    FAMILY,
    """
    # %% stateful.py
    import torch
    from torch import nn


    class StatefulCell(nn.Module):
        def __init__(self, inputs, hidden):
            super().__init__()
            self.update = nn.Linear(inputs + hidden, hidden)
            self.readout = nn.Linear(hidden, 1)
            self.state = None

        def forward(self, x):
            if self.state is None:
                self.state = x.new_zeros(x.size(0), self.readout.in_features)
            joined = torch.cat([x, self.state], dim=1)
            self.state = torch.tanh(self.update(joined))  # culprit
            return self.readout(self.state)
    # %% train.py
    def train_step(model, optimizer, criterion, x, y):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()  # raises
        optimizer.step()
        return loss.item()
    # %%
    from stateful import StatefulCell
    from train import train_step
    model = StatefulCell(2, 3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    stream = [(torch.randn(4, 2), torch.randn(4, 1)) for _ in range(3)]
    # %%
    history = []
    for x, y in stream:
        history.append(train_step(model, optimizer, F.mse_loss, x, y))
    """,
    fix(
        "return self.readout(self.state)",
        "out = self.readout(self.state)\n"
        "        self.state = self.state.detach()\n"
        "        return out",
    ),
    fix(
        "joined = torch.cat([x, self.state], dim=1)",
        "joined = torch.cat([x, self.state.detach()], dim=1)",
    ),
    reference="""
    state = torch.zeros(4, 3)
    for x, y in stream:
        optimizer.zero_grad()
        def loss():
            model.state = state
            return F.mse_loss(model(x), y)
        loss()
        after = model.state.detach()
        accumulate(loss, model.parameters())
        state = after
        optimizer.step()
    """,
    variables=("model.state", "state", "self.state"),
    message=MESSAGE,
    audit=("", "", ""),
)
bug(
    "fake images not detached for the discriminator",
    FAMILY,
    """
    # %% networks.py
    from torch import nn


    class Mlp(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.hidden = nn.Linear(inputs, 4)
            self.out = nn.Linear(4, outputs)

        def forward(self, x):
            return self.out(self.hidden(x).tanh())
    # %%
    from networks import Mlp
    generator, discriminator = Mlp(2, 3), Mlp(3, 1)
    opt_g = optim.SGD(generator.parameters(), lr=0.1)
    opt_d = optim.SGD(discriminator.parameters(), lr=0.1)
    bce = nn.BCEWithLogitsLoss()
    batches = [(torch.randn(4, 3), torch.randn(4, 2)) for _ in range(2)]
    # %%
    for real, z in batches:
        fake = generator(z)

        opt_d.zero_grad()
        out_real, out_fake = discriminator(real), discriminator(fake)  # culprit
        loss_d = bce(out_real, torch.ones(4, 1)) + bce(out_fake, torch.zeros(4, 1))
        loss_d.backward()
        opt_d.step()

        opt_g.zero_grad()
        loss_g = bce(discriminator(fake), torch.ones(4, 1))
        loss_g.backward()  # raises
        opt_g.step()
    """,
    fix(
        "discriminator(real), discriminator(fake)",
        "discriminator(real), discriminator(fake.detach())",
    ),
    reference="""
    for real, z in batches:
        opt_d.zero_grad()
        accumulate(
            lambda: bce(discriminator(real), torch.ones(4, 1))
            + bce(discriminator(generator(z)), torch.zeros(4, 1)),
            discriminator.parameters(),
        )
        opt_d.step()
        opt_g.zero_grad()
        accumulate(
            lambda: bce(discriminator(generator(z)), torch.ones(4, 1)), generator.parameters()
        )
        opt_g.step()
    """,
    result="[*generator.parameters(), *discriminator.parameters()]",
    variables=("fake",),
    message=MESSAGE,
    audit=("loss_g", "generator", "opt_g"),
)
bug(
    "running total of losses goes backward",
    FAMILY,
    """
    # %% trainer.py
    import torch
    from torch import nn


    class Trainer:
        def __init__(self, model, lr=0.1):
            self.model = model
            self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
            self.criterion = nn.MSELoss()

        def fit(self, loader):
            total = 0.0
            for x, y in loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y)
                total += loss  # culprit
                total.backward()  # raises
                self.optimizer.step()
            return total / len(loader)
    # %%
    from trainer import Trainer
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    loader = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(3)]
    trainer = Trainer(model)
    # %%
    mean = trainer.fit(loader)
    """,
    (("total += loss\n", "total += loss.item()\n"), ("total.backward()", "loss.backward()")),
    reference="""
    for x, y in loader:
        trainer.optimizer.zero_grad()
        accumulate(lambda: trainer.criterion(model(x), y), model.parameters())
        trainer.optimizer.step()
    """,
    variables=("total",),
    message=MESSAGE,
    audit=("", "", ""),
)
bug(
    "penalty computed once before the loop",
    FAMILY,
    """
    # %% losses.py
    import torch
    from torch import nn


    class PenalisedLoss(nn.Module):
        def __init__(self, model, weight):
            super().__init__()
            norms = [p.pow(2).sum() for p in model.parameters()]
            self.penalty = weight * torch.stack(norms).sum()  # culprit

        def forward(self, prediction, target):
            return (prediction - target).abs().mean() + self.penalty
    # %%
    from losses import PenalisedLoss
    model = nn.Linear(3, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    criterion = PenalisedLoss(model, weight=0.1)
    for epoch in range(3):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()  # raises
        optimizer.step()
    """,
    fix(
        "norms = [p.pow(2).sum() for p in model.parameters()]",
        "self.weight, self.of = weight, list(model.parameters())",
        "        self.penalty = weight * torch.stack(norms).sum()\n",
        "",
        "return (prediction - target).abs().mean() + self.penalty",
        "penalty = self.weight * sum(p.pow(2).sum() for p in self.of)\n"
        "        return (prediction - target).abs().mean() + penalty",
    ),
    fix(
        "criterion = PenalisedLoss(model, weight=0.1)\n",
        "",
        "    loss = criterion(",
        "    criterion = PenalisedLoss(model, weight=0.1)\n    loss = criterion(",
    ),
    reference="""
    def total():
        penalty = 0.1 * sum(p.pow(2).sum() for p in model.parameters())
        return (model(x) - y).abs().mean() + penalty
    for epoch in range(3):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    variables=("criterion.penalty", "self.penalty", "penalty"),
    message=MESSAGE,
)
bug(
    "log-probabilities of earlier episodes",
    FAMILY,
    """
    # %% reinforce.py
    import torch
    from torch import nn


    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2))
            self.log_probs = []
            self.rewards = []

        def act(self, state, choice):
            log_probs = torch.log_softmax(self.net(state), dim=-1)
            self.log_probs.append(log_probs[choice])  # culprit
            return choice

        def loss(self):
            returns = torch.tensor(self.rewards).flip(0).cumsum(0).flip(0)
            terms = [p * r for p, r in zip(self.log_probs, returns)]
            return -sum(terms) / len(terms)

        def forget(self):
            self.rewards.clear()  # culprit
    # %%
    from reinforce import Policy
    policy = Policy()
    optimizer = optim.SGD(policy.parameters(), lr=0.1)
    states = torch.randn(3, 2)
    choices, rewards = [0, 1, 1], [1.0, 0.0, 2.0]
    # %%
    for episode in range(2):
        for state, choice, reward in zip(states, choices, rewards):
            policy.act(state, choice)
            policy.rewards.append(reward)
        optimizer.zero_grad()
        loss = policy.loss()
        loss.backward()  # raises
        optimizer.step()
        policy.forget()
    """,
    (("self.rewards.clear()", "self.rewards.clear()\n        self.log_probs.clear()"),),
    reference="""
    def loss():
        log_probs = torch.log_softmax(policy.net(states), dim=-1)[range(3), choices]
        return -(log_probs * torch.tensor([3.0, 2.0, 2.0])).mean()
    for episode in range(2):
        optimizer.zero_grad()
        accumulate(loss, policy.parameters())
        optimizer.step()
    """,
    result="list(policy.parameters())",
    variables=(
        "policy.log_probs[0]",
        "self.log_probs[0]",
        "log_probs[0]",
        "policy.log_probs",
        "self.log_probs",
        "log_probs",
    ),
    message=MESSAGE,
    audit=("loss", "policy", "optimizer"),
)
bug(
    "table cached by the first forward",
    FAMILY,
    """
    # %% positions.py
    import torch
    from torch import nn


    class RelativePositions(nn.Module):
        def __init__(self, length, width):
            super().__init__()
            self.table = nn.Parameter(torch.randn(length, width))
            self.project = nn.Linear(width, width)
            self._cache = None

        def positions(self):
            if self._cache is None:
                self._cache = torch.tanh(self.project(self.table))  # culprit
            return self._cache

        def forward(self, x):
            return x + self.positions()[: x.size(1)]
    # %%
    from positions import RelativePositions
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.positions = RelativePositions(4, 2)
            self.out = nn.Linear(2, 1)

        def forward(self, x):
            return self.out(self.positions(x)).mean(dim=1)


    model = Model()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    loader = [(torch.randn(3, 4, 2), torch.randn(3, 1)) for _ in range(2)]
    # %%
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()  # raises
        optimizer.step()
    """,
    fix(
        "        if self._cache is None:\n"
        "            self._cache = torch.tanh(self.project(self.table))\n",
        "",
        "return self._cache",
        "return torch.tanh(self.project(self.table))",
    ),
    reference="""
    def loss():
        model.positions._cache = None
        return F.mse_loss(model(x), y)
    for x, y in loader:
        optimizer.zero_grad()
        accumulate(loss, model.parameters())
        optimizer.step()
    """,
    variables=("model.positions._cache", "self._cache", "positions._cache", "_cache"),
    message=MESSAGE,
)
bug(
    "two losses of one trunk go backward one by one",
    FAMILY,
    """
    # %% multitask.py
    from torch import nn


    class MultiTask(nn.Module):
        def __init__(self):
            super().__init__()
            self.trunk = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
            self.classify = nn.Linear(4, 2)
            self.regress = nn.Linear(4, 1)

        def forward(self, x):
            shared = self.trunk(x)
            return self.classify(shared), self.regress(shared)
    # %%
    from multitask import MultiTask
    model = MultiTask()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(5, 3)
    labels, values = torch.tensor([0, 1, 0, 1, 1]), torch.randn(5, 1)
    # %%
    def train_step():
        optimizer.zero_grad()
        logits, estimate = model(x)
        loss_class = F.cross_entropy(logits, labels)
        loss_value = F.mse_loss(estimate, values)
        loss_class.backward()  # culprit
        loss_value.backward()  # raises
        optimizer.step()

    train_step()
    """,
    fix(
        "    loss_class.backward()\n    loss_value.backward()\n",
        "    (loss_class + loss_value).backward()\n",
    ),
    (("loss_class.backward()", "loss_class.backward(retain_graph=True)"),),
    reference="""
    accumulate(
        lambda: F.cross_entropy(model(x)[0], labels) + F.mse_loss(model(x)[1], values),
        model.parameters(),
    )
    optimizer.step()
    """,
    variables=("loss_class", "shared", "loss_value"),
    message=MESSAGE,
    audit=("", "", ""),
)
bug(
    "value of the next state becomes the value of this one",
    FAMILY,
    """
    # %% td.py
    from torch import nn


    class Critic(nn.Module):
        def __init__(self, states):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(states, 4), nn.Tanh(), nn.Linear(4, 1))

        def forward(self, state):
            return self.net(state).squeeze(-1)


    def td_error(value, reward, next_value, discount=0.9):
        return (reward + discount * next_value - value).pow(2)  # culprit
    # %%
    from td import Critic, td_error
    critic = Critic(2)
    optimizer = optim.SGD(critic.parameters(), lr=0.05)
    trajectory, rewards = torch.randn(4, 2), torch.tensor([1.0, 0.5, -1.0])
    # %%
    value = critic(trajectory[0])
    for t in range(3):
        next_value = critic(trajectory[t + 1])
        loss = td_error(value, rewards[t], next_value)  # culprit
        optimizer.zero_grad()
        loss.backward()  # raises
        value = next_value
    optimizer.step()
    """,
    (("discount * next_value - value", "discount * next_value.detach() - value"),),
    fix(
        "td_error(value, rewards[t], next_value)",
        "td_error(value, rewards[t], next_value.detach())",
    ),
    reference="""
    optimizer.zero_grad()
    target = (rewards[2] + 0.9 * critic(trajectory[3])).item()
    accumulate(lambda: (target - critic(trajectory[2])).pow(2), critic.parameters())
    optimizer.step()
    """,
    result="list(critic.parameters())",
    variables=("next_value", "value"),
    message=MESSAGE,
    audit=("loss", "critic", "optimizer"),
)
bug(
    "gradients taken, then backward",
    FAMILY,
    """
    # %% penalty.py
    import torch


    def gradient_norm(loss, parameters):
        grads = torch.autograd.grad(loss, parameters)  # culprit
        return torch.sqrt(sum(g.pow(2).sum() for g in grads))
    # %%
    from penalty import gradient_norm
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    norms = []
    # %%
    for epoch in range(2):
        loss = F.mse_loss(model(x), y)
        norms.append(gradient_norm(loss, list(model.parameters())).item())
        optimizer.zero_grad()
        loss.backward()  # raises
        optimizer.step()
    """,
    fix(
        "torch.autograd.grad(loss, parameters)",
        "torch.autograd.grad(loss, parameters, retain_graph=True)",
    ),
    fix(
        "    norms.append(gradient_norm(loss, list(model.parameters())).item())\n",
        "",
        "    loss.backward()\n",
        "    loss.backward()\n"
        "    squares = sum(p.grad.pow(2).sum() for p in model.parameters())\n"
        "    norms.append(torch.sqrt(squares).item())\n",
    ),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
        optimizer.step()
    """,
    variables=("loss",),
    message=MESSAGE,
)
bug(
    "moving average keeps the graph of every batch",
    FAMILY,
    """
    # %% baseline.py
    class MovingBaseline:
        def __init__(self, momentum=0.8):
            self.momentum = momentum
            self.value = 0.0

        def update(self, rewards):
            batch = rewards.mean()
            self.value = self.momentum * self.value + (1 - self.momentum) * batch  # culprit
            return self.value


    def advantage_loss(scores, weights, baseline):
        gain = scores * weights
        return -(gain - baseline.update(gain)).pow(2).mean()
    # %%
    from baseline import MovingBaseline, advantage_loss
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    baseline = MovingBaseline()
    batches = [(torch.randn(4, 3), torch.rand(4, 1)) for _ in range(3)]
    # %%
    for states, weights in batches:
        loss = advantage_loss(model(states).exp(), weights, baseline)
        optimizer.zero_grad()
        loss.backward()  # raises
        optimizer.step()
    """,
    (("batch = rewards.mean()", "batch = rewards.detach().mean()"),),
    (("(1 - self.momentum) * batch\n", "(1 - self.momentum) * batch.item()\n"),),
    reference="""
    value = 0.0
    for states, weights in batches:
        value = 0.8 * value + 0.2 * (model(states).exp() * weights).mean().item()
        optimizer.zero_grad()
        accumulate(
            lambda: -(model(states).exp() * weights - value).pow(2).mean(), model.parameters()
        )
        optimizer.step()
    """,
    variables=("baseline.value", "self.value", "value"),
    message=MESSAGE,
)
