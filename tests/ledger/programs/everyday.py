"""Well-known faults in reinforcement learning, graph networks and fine-tuning."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "everyday faults in new surroundings"

bug(
    "old log-probabilities of PPO keep their graph",
    FAMILY,
    """
    # %% ppo.py
    import torch
    from torch import nn
    from torch.distributions import Categorical


    class Agent(nn.Module):
        def __init__(self, states, actions):
            super().__init__()
            self.actor = nn.Sequential(nn.Linear(states, 4), nn.Tanh(), nn.Linear(4, actions))

        def log_prob(self, states, actions):
            return Categorical(logits=self.actor(states)).log_prob(actions)


    def update(agent, optimizer, states, actions, advantages, epochs, clip=0.2):
        old = agent.log_prob(states, actions)  # culprit
        for _ in range(epochs):
            ratio = torch.exp(agent.log_prob(states, actions) - old)
            bounded = ratio.clamp(1 - clip, 1 + clip)
            loss = -torch.min(ratio * advantages, bounded * advantages).mean()
            optimizer.zero_grad()
            loss.backward()  # raises
            optimizer.step()
    # %%
    from ppo import Agent, update
    agent = Agent(3, 2)
    optimizer = optim.SGD(agent.parameters(), lr=0.1)
    states, actions, advantages = torch.randn(6, 3), torch.randint(2, (6,)), torch.randn(6)
    # %%
    update(agent, optimizer, states, actions, advantages, epochs=2)
    """,
    fix("old = agent.log_prob(states, actions)", "old = agent.log_prob(states, actions).detach()"),
    fix(
        "    old = agent.log_prob(states, actions)\n",
        "    with torch.no_grad():\n        old = agent.log_prob(states, actions)\n",
    ),
    reference="""
    old = agent.log_prob(states, actions).detach()
    def total():
        ratio = torch.exp(agent.log_prob(states, actions) - old)
        return -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
    for _ in range(2):
        optimizer.zero_grad()
        accumulate(total, agent.parameters())
        optimizer.step()
    """,
    result="list(agent.parameters())",
    variables=("old",),
    message="",
    audit=("", "", ""),
)
bug(
    "attention of a graph network normalised in place",
    FAMILY,
    """
    # %% gat.py
    import torch
    from torch import nn


    class GatLayer(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.lift = nn.Linear(inputs, outputs)
            self.attend = nn.Linear(2 * outputs, 1)

        def forward(self, x, edges):
            h = self.lift(x)
            source, target = edges
            pair = torch.cat([h[source], h[target]], 1)
            alpha = torch.exp(nn.functional.leaky_relu(self.attend(pair)))
            total = torch.zeros(len(x), 1).index_add(0, target, alpha)
            alpha /= total[target]  # culprit
            return torch.zeros_like(h).index_add(0, target, alpha * h[source])
    # %%
    from gat import GatLayer
    class Gat(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = GatLayer(3, 4), GatLayer(4, 2)

        def forward(self, x, edges):
            return self.second(self.first(x, edges).relu(), edges)


    model = Gat()
    edges = torch.tensor([[0, 1, 2, 3, 0, 2], [1, 2, 3, 0, 2, 1]])
    x, labels = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
    # %%
    loss = F.cross_entropy(model(x, edges), labels)
    loss.backward()  # raises
    """,
    (("alpha /= total[target]", "alpha = alpha / total[target]"),),
    reference="accumulate(lambda: F.cross_entropy(model(x, edges), labels), model.parameters())",
    result="[p.grad for p in model.parameters()]",
    variables=("alpha",),
    message="has been modified by an inplace operation",
)
bug(
    "adapter merged into a weight that trains",
    FAMILY,
    """
    # %% lora.py
    import torch
    from torch import nn


    class LoraLinear(nn.Linear):
        def __init__(self, inputs, outputs, rank, scale=0.5):
            super().__init__(inputs, outputs)
            self.a = nn.Parameter(torch.randn(rank, inputs))
            self.b = nn.Parameter(torch.randn(outputs, rank))
            self.scale = scale

        def forward(self, x):
            return super().forward(x) + self.scale * (x @ self.a.t() @ self.b.t())

        def merge(self):
            self.weight += self.scale * self.b @ self.a  # culprit raises
            self.scale = 0.0
    # %%
    from lora import LoraLinear
    model = nn.Sequential(LoraLinear(3, 4, 1), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    model[0].merge()
    """,
    fix(
        "        self.weight += self.scale * self.b @ self.a\n",
        "        with torch.no_grad():\n            self.weight += self.scale * self.b @ self.a\n",
    ),
    (("    def merge(self):", "    @torch.no_grad()\n    def merge(self):"),),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
        optimizer.step()
    with torch.no_grad():
        model[0].merge()
    """,
    variables=("self.weight", "model.0.weight", "0.weight", "weight"),
    message="is being used in an in-place operation",
)
bug(
    "policy gradient of collected numbers",
    FAMILY,
    """
    # %% reinforce.py
    import torch
    from torch import nn
    from torch.distributions import Normal


    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = nn.Linear(2, 1)
            self.log_std = nn.Parameter(torch.zeros(1))

        def forward(self, state):
            return Normal(self.mean(state), self.log_std.exp())


    def episode_loss(policy, states, actions, rewards, discount=0.9):
        log_probs, returns, total = [], [], 0.0
        for state, action in zip(states, actions):
            log_probs.append(policy(state).log_prob(action).sum().item())  # culprit
        for reward in reversed(rewards.tolist()):
            total = reward + discount * total
            returns.insert(0, total)
        return -(torch.tensor(log_probs) * torch.tensor(returns)).sum()  # culprit
    # %%
    from reinforce import Policy, episode_loss
    policy = Policy()
    optimizer = optim.SGD(policy.parameters(), lr=0.05)
    states, actions, rewards = torch.randn(4, 2), torch.randn(4, 1), torch.randn(4)
    # %%
    loss = episode_loss(policy, states, actions, rewards)
    optimizer.zero_grad()
    loss.backward()  # raises
    optimizer.step()
    """,
    fix(
        "log_prob(action).sum().item())",
        "log_prob(action).sum())",
        "torch.tensor(log_probs)",
        "torch.stack(log_probs)",
    ),
    reference="""
    accumulate(lambda: episode_loss(policy, states, actions, rewards), policy.parameters())
    optimizer.step()
    """,
    result="list(policy.parameters())",
    variables=("log_probs", "loss", "policy(state).log_prob(action).sum()"),
    message="does not require grad",
    audit=("loss", "policy", "optimizer"),
)
