"""Torch raises nothing, and the order of calls in a loop of training is wrong."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "silent: order of calls in training"

bug(
    "gradients cleared once per epoch",
    FAMILY,
    """
    # %% epochs.py
    def run_epoch(model, loader, criterion, optimizer):
        model.train()
        optimizer.zero_grad()  # culprit
        total = 0.0
        for images, labels in loader:
            loss = criterion(model(images), labels)
            loss.backward()  # culprit
            optimizer.step()  # culprit
            total += loss.item()
        return total / len(loader)
    # %%
    from epochs import run_epoch
    class SmallCnn(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 2, 3)
            self.fc = nn.Linear(2, 3)

        def forward(self, x):
            return self.fc(torch.relu(self.conv(x)).mean((2, 3)))


    model = SmallCnn()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    loader = [(torch.randn(3, 1, 4, 4), torch.randint(3, (3,))) for _ in range(2)]
    # %%
    for epoch in range(2):
        average = run_epoch(model, loader, nn.CrossEntropyLoss(), optimizer)
    """,
    fix(
        "    model.train()\n    optimizer.zero_grad()\n",
        "    model.train()\n",
        "        loss.backward()\n",
        "        optimizer.zero_grad()\n        loss.backward()\n",
    ),
    reference="""
    for epoch in range(2):
        for images, labels in loader:
            optimizer.zero_grad()
            accumulate(lambda: F.cross_entropy(model(images), labels), model.parameters())
            optimizer.step()
    """,
    raised="",
    audit=("", "", ""),
)
bug(
    "second optimizer's gradients are never cleared",
    FAMILY,
    """
    # %% ddpg.py
    import torch
    from torch import nn


    class Ddpg:
        def __init__(self, states, actions, lr):
            self.actor = nn.Sequential(nn.Linear(states, actions), nn.Tanh())
            self.critic = nn.Linear(states + actions, 1)
            self.opt_actor = torch.optim.SGD(self.actor.parameters(), lr=lr)
            self.opt_critic = torch.optim.SGD(self.critic.parameters(), lr=lr)

        def value(self, states, actions):
            return self.critic(torch.cat([states, actions], 1))

        def update(self, states, actions, targets):
            critic_loss = nn.functional.mse_loss(self.value(states, actions), targets)
            self.opt_critic.zero_grad()
            critic_loss.backward()
            self.opt_critic.step()
            actor_loss = -self.value(states, self.actor(states)).mean()
            actor_loss.backward()  # culprit
            self.opt_actor.step()  # culprit
    # %%
    from ddpg import Ddpg
    agent = Ddpg(3, 2, 0.1)
    states, actions, targets = torch.randn(5, 3), torch.randn(5, 2), torch.randn(5, 1)
    # %%
    for step in range(3):
        agent.update(states, actions, targets)
    """,
    fix(
        "        actor_loss.backward()\n",
        "        self.opt_actor.zero_grad()\n        actor_loss.backward()\n",
    ),
    reference="""
    for step in range(3):
        agent.opt_critic.zero_grad()
        accumulate(
            lambda: F.mse_loss(agent.value(states, actions), targets), agent.critic.parameters()
        )
        agent.opt_critic.step()
        agent.opt_actor.zero_grad()
        accumulate(
            lambda: -agent.value(states, agent.actor(states)).mean(), agent.actor.parameters()
        )
        agent.opt_actor.step()
    """,
    result="[*agent.actor.parameters(), *agent.critic.parameters()]",
    raised="",
    audit=("", "", ""),
)
bug(
    "inner loop of adaptation adds up its gradients",
    FAMILY,
    """
    # %% reptile.py
    import copy

    import torch


    class Reptile:
        def __init__(self, model, inner_lr, outer_lr):
            self.model, self.inner_lr, self.outer_lr = model, inner_lr, outer_lr

        def adapt(self, x, y, steps):
            fast = copy.deepcopy(self.model)
            optimizer = torch.optim.SGD(fast.parameters(), lr=self.inner_lr)
            for _ in range(steps):
                torch.nn.functional.mse_loss(fast(x), y).backward()  # culprit
                optimizer.step()  # culprit
            return fast

        def meta_step(self, x, y, steps=3):
            fast = self.adapt(x, y, steps)
            with torch.no_grad():
                for slow, new in zip(self.model.parameters(), fast.parameters()):
                    slow += self.outer_lr * (new - slow)
    # %%
    from reptile import Reptile
    model = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))
    reptile = Reptile(model, inner_lr=0.1, outer_lr=0.5)
    tasks = [(torch.randn(4, 1), torch.randn(4, 1)) for _ in range(2)]
    # %%
    for x, y in tasks:
        reptile.meta_step(x, y)
    """,
    fix(
        "            torch.nn.functional.mse_loss(fast(x), y).backward()\n",
        "            optimizer.zero_grad()\n"
        "            torch.nn.functional.mse_loss(fast(x), y).backward()\n",
    ),
    reference="""
    import copy
    for x, y in tasks:
        fast = copy.deepcopy(model)
        optimizer = optim.SGD(fast.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            accumulate(lambda: F.mse_loss(fast(x), y), fast.parameters())
            optimizer.step()
        with torch.no_grad():
            for slow, new in zip(model.parameters(), fast.parameters()):
                slow += 0.5 * (new - slow)
    """,
    raised="",
    audit=("", "", ""),
)
bug(
    "scheduler stepped before the optimizer",
    FAMILY,
    """
    # %% schedule.py
    import torch


    def make(model, lr, warmup):
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        rate = lambda step: min(1.0, (step + 1) / warmup)
        return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, rate)


    def train(model, loader, optimizer, scheduler, criterion):
        for x, y in loader:
            scheduler.step()  # culprit
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        return loss
    # %%
    from schedule import make, train
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer, scheduler = make(model, 0.2, warmup=4)
    loader = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(3)]
    # %%
    loss = train(model, loader, optimizer, scheduler, nn.L1Loss())
    """,
    fix(
        "        scheduler.step()\n        optimizer.zero_grad()\n",
        "        optimizer.zero_grad()\n",
        "        optimizer.step()\n",
        "        optimizer.step()\n        scheduler.step()\n",
    ),
    reference="""
    for number, (x, y) in enumerate(loader):
        model.zero_grad()
        accumulate(lambda: (model(x) - y).abs().mean(), model.parameters())
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.2 * (number + 1) / 4 * p.grad
    """,
    raised="",
)
bug(
    "learning rate lowered at the head of each epoch",
    FAMILY,
    """
    # %% learner.py
    import torch
    from torch.optim.lr_scheduler import StepLR


    class Learner:
        def __init__(self, model, lr):
            self.model = model
            self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
            self.scheduler = StepLR(self.optimizer, step_size=1, gamma=0.5)

        def epoch(self, batches):
            self.scheduler.step()  # culprit
            for x, labels in batches:
                loss = torch.nn.functional.cross_entropy(self.model(x), labels)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
    # %%
    from learner import Learner
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    learner = Learner(model, 0.4)
    batches = [(torch.randn(4, 3), torch.tensor([0, 1, 1, 0])) for _ in range(2)]
    # %%
    for number in range(2):
        learner.epoch(batches)
    """,
    fix(
        "        self.scheduler.step()\n        for",
        "        for",
        "            self.optimizer.step()\n",
        "            self.optimizer.step()\n        self.scheduler.step()\n",
    ),
    reference="""
    for rate in (0.4, 0.2):
        for x, labels in batches:
            model.zero_grad()
            accumulate(lambda: F.cross_entropy(model(x), labels), model.parameters())
            with torch.no_grad():
                for p in model.parameters():
                    p -= rate * p.grad
    """,
    raised="",
    audit=("", "", ""),
)
bug(
    "gradients clipped after the step",
    FAMILY,
    """
    # %% clipped_training.py
    import torch
    from torch import nn


    class CharRnn(nn.Module):
        def __init__(self, vocabulary, width):
            super().__init__()
            self.embed = nn.Embedding(vocabulary, width)
            self.gru = nn.GRU(width, width, batch_first=True)
            self.out = nn.Linear(width, vocabulary)

        def forward(self, tokens):
            return self.out(self.gru(self.embed(tokens))[0])


    def train_batch(model, optimizer, text, bound=0.1):
        logits = model(text[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        nn.utils.clip_grad_norm_(model.parameters(), bound)  # culprit
        return loss
    # %%
    from clipped_training import CharRnn, train_batch
    model = CharRnn(5, 2)
    optimizer = optim.SGD(model.parameters(), lr=1.0)
    text = torch.randint(5, (2, 4))
    # %%
    for epoch in range(2):
        loss = train_batch(model, optimizer, text)
    """,
    fix(
        "    optimizer.step()\n    nn.utils.clip_grad_norm_(model.parameters(), bound)\n",
        "    nn.utils.clip_grad_norm_(model.parameters(), bound)\n    optimizer.step()\n",
    ),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(
            lambda: F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()),
            model.parameters(),
        )
        norm = torch.sqrt(sum(p.grad.pow(2).sum() for p in model.parameters()))
        for p in model.parameters():
            p.grad = p.grad * (0.1 / (norm + 1e-6)).clamp(max=1)
        optimizer.step()
    """,
    raised="",
)
bug(
    "values of gradients clamped when the step is done",
    FAMILY,
    """
    # %% dqn_trainer.py
    import torch


    class Trainer:
        def __init__(self, net, target, lr, discount=0.9):
            self.net, self.target, self.discount = net, target, discount
            self.optimizer = torch.optim.SGD(net.parameters(), lr=lr)

        def optimize(self, state, action, reward, following):
            with torch.no_grad():
                wanted = reward + self.discount * self.target(following).amax(1)
            value = self.net(state).gather(1, action).squeeze(1)
            loss = torch.nn.functional.mse_loss(value, wanted)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            torch.nn.utils.clip_grad_value_(self.net.parameters(), 0.05)  # culprit
    # %%
    from dqn_trainer import Trainer
    net, target = nn.Linear(3, 2), nn.Linear(3, 2)
    trainer = Trainer(net, target, lr=0.5)
    memory = torch.randn(6, 3), torch.randint(2, (6, 1)), torch.randn(6), torch.randn(6, 3)
    # %%
    for step in range(2):
        trainer.optimize(*memory)
    """,
    fix(
        "        self.optimizer.step()\n",
        "",
        "clip_grad_value_(self.net.parameters(), 0.05)",
        "clip_grad_value_(self.net.parameters(), 0.05)\n        self.optimizer.step()",
    ),
    reference="""
    state, action, reward, following = memory
    wanted = (reward + 0.9 * target(following).amax(1)).detach()
    for step in range(2):
        net.zero_grad()
        accumulate(
            lambda: F.mse_loss(net(state).gather(1, action).squeeze(1), wanted), net.parameters()
        )
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.5 * p.grad.clamp(-0.05, 0.05)
    """,
    result="list(net.parameters())",
    raised="",
    audit=("", "", ""),
)
bug(
    "moving average of features keeps a graph per batch",
    FAMILY,
    """
    # %% center.py
    import torch
    from torch import nn


    class Centered(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.fc = nn.Linear(3, width)
            self.out = nn.Linear(width, 1)
            self.center = torch.zeros(width)

        def forward(self, x):
            h = torch.tanh(self.fc(x))
            self.center = 0.9 * self.center + 0.1 * h.mean(0)  # culprit
            return self.out(h)

        def drift(self):
            return self.center.norm().item()
    # %%
    from center import Centered
    model = Centered(4)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    loader = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(4)]
    # %%
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        drift = model.drift()
    """,
    (("0.1 * h.mean(0)", "0.1 * h.mean(0).detach()"),),
    (("0.1 * h.mean(0)", "0.1 * h.detach().mean(0)"),),
    reference="""
    for x, y in loader:
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
        optimizer.step()
    """,
    raised="",
    shown="model.center.requires_grad",
)
bug(
    "hidden state of an evaluation grows its graph",
    FAMILY,
    """
    # %% streaming.py
    import torch
    from torch import nn


    class Monitor:
        def __init__(self, model):
            self.model = model
            self.state = None
            self.scores = []

        def push(self, chunk):
            out, self.state = self.model.gru(chunk, self.state)  # culprit
            self.scores.append(self.model.head(out[:, -1]).sigmoid().mean().item())


    class Detector(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.gru = nn.GRU(2, width, batch_first=True)
            self.head = nn.Linear(width, 1)
    # %%
    from streaming import Detector, Monitor
    model = Detector(3).eval()
    stream = torch.randn(5, 1, 3, 2)
    # %%
    monitor = Monitor(model)
    for chunk in stream:
        monitor.push(chunk)
    """,
    (("    def push(self, chunk):", "    @torch.no_grad()\n    def push(self, chunk):"),),
    fix(
        "self.model.gru(chunk, self.state)\n",
        "self.model.gru(chunk, self.state)\n        self.state = self.state.detach()\n",
    ),
    reference="""
    out = model.gru(stream.reshape(1, 15, 2))[0][:, 2::3]
    class monitor:
        scores = model.head(out).sigmoid().flatten().tolist()
        state = out.detach()
    """,
    result="monitor.scores",
    raised="",
    shown="monitor.state.requires_grad",
    audit=("", "", ""),
)
bug(
    "replay memory keeps the graphs of its values",
    FAMILY,
    """
    # %% memory.py
    import torch
    from torch import nn


    class Memory:
        def __init__(self, capacity):
            self.items, self.capacity = [], capacity

        def push(self, state, value, reward):
            self.items.append((state, value, reward))  # culprit
            self.items = self.items[-self.capacity:]

        def surprise(self):
            return sum(abs(float(reward - value)) for _, value, reward in self.items)


    def learn(net, optimizer, state, reward):
        optimizer.zero_grad()
        value = net(state).squeeze()
        (value - reward).pow(2).backward()
        optimizer.step()
        return value  # culprit
    # %%
    from memory import Memory, learn
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    states, rewards = torch.randn(5, 3), torch.randn(5)
    # %%
    memory = Memory(10)
    for state, reward in zip(states, rewards):
        value = learn(net, optimizer, state, reward)
        memory.push(state, value, reward)
    """,
    (("return value", "return value.detach()"),),
    fix(
        "self.items.append((state, value, reward))",
        "self.items.append((state, value.item(), reward))",
    ),
    reference="""
    for state, reward in zip(states, rewards):
        optimizer.zero_grad()
        accumulate(lambda: (net(state).squeeze() - reward).pow(2), net.parameters())
        optimizer.step()
    """,
    result="list(net.parameters())",
    raised="",
    shown="getattr(memory.items[-1][1], 'requires_grad', False)",
    audit=("", "", ""),
)
bug(
    "derivative of an activation has a wrong formula",
    FAMILY,
    """
    # %% swish.py
    import torch
    from torch import nn


    class SwishFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * torch.sigmoid(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            s = torch.sigmoid(x)
            return grad * (s * (1 - s))  # culprit


    class Swish(nn.Module):
        def forward(self, x):
            return SwishFunction.apply(x)
    # %%
    from swish import Swish
    model = nn.Sequential(nn.Conv1d(1, 2, 3), Swish(), nn.Flatten(), nn.Linear(6, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(4, 1, 5), torch.randn(4, 1)
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    """,
    (("grad * (s * (1 - s))", "grad * (s + x * s * (1 - s))"),),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
        optimizer.step()
    """,
    raised="",
)
