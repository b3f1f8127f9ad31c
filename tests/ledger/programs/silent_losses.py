"""Torch raises nothing, and the loss is another function than the author means."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "silent: losses"

bug(
    "softmax at the end of a classifier",
    FAMILY,
    """
    # %% cnn.py
    from torch import nn


    class Cnn(nn.Module):
        def __init__(self, classes):
            super().__init__()
            self.features = nn.Sequential(nn.Conv1d(1, 3, 3, padding=1), nn.ReLU())
            self.classify = nn.Sequential(nn.Linear(3, classes), nn.Softmax(dim=1))  # culprit

        def forward(self, x):
            return self.classify(self.features(x).mean(2))
    # %%
    from cnn import Cnn
    model = Cnn(3)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    x, labels = torch.randn(6, 1, 5), torch.tensor([0, 1, 2, 2, 1, 0])
    # %%
    for epoch in range(3):
        optimizer.zero_grad()
        loss = criterion(model(x), labels)  # culprit
        loss.backward()
        optimizer.step()
    """,
    fix(
        "nn.Sequential(nn.Linear(3, classes), nn.Softmax(dim=1))",
        "nn.Sequential(nn.Linear(3, classes))",
    ),
    (("criterion(model(x), labels)", "F.nll_loss(model(x).log(), labels)"),),
    reference="""
    for epoch in range(3):
        optimizer.zero_grad()
        accumulate(
            lambda: criterion(model.classify[0](model.features(x).mean(2)), labels),
            model.parameters(),
        )
        optimizer.step()
    """,
    raised="",
)
bug(
    "sigmoid before a loss that takes logits",
    FAMILY,
    """
    # %% link_prediction.py
    import torch
    from torch import nn


    class LinkPredictor(nn.Module):
        def __init__(self, nodes, width):
            super().__init__()
            self.nodes = nn.Embedding(nodes, width)
            self.mix = nn.Linear(width, width)

        def embed(self, adjacency):
            return torch.tanh(adjacency @ self.mix(self.nodes.weight))

        def forward(self, adjacency, pairs):
            z = self.embed(adjacency)
            return torch.sigmoid((z[pairs[0]] * z[pairs[1]]).sum(1))  # culprit


    def train(model, optimizer, adjacency, pairs, exists, epochs):
        criterion = nn.BCEWithLogitsLoss()
        for _ in range(epochs):
            optimizer.zero_grad()
            loss = criterion(model(adjacency, pairs), exists)  # culprit
            loss.backward()
            optimizer.step()
        return loss
    # %%
    from link_prediction import LinkPredictor, train
    model = LinkPredictor(4, 3)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    adjacency = torch.tensor([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]) / 2
    pairs, exists = torch.tensor([[0, 1, 0], [1, 2, 2]]), torch.tensor([1.0, 1.0, 0.0])
    # %%
    loss = train(model, optimizer, adjacency, pairs, exists, epochs=2)
    """,
    (("torch.sigmoid((z[pairs[0]] * z[pairs[1]]).sum(1))", "(z[pairs[0]] * z[pairs[1]]).sum(1)"),),
    (("nn.BCEWithLogitsLoss()", "nn.BCELoss()"),),
    reference="""
    def total():
        z = model.embed(adjacency)
        logits = (z[pairs[0]] * z[pairs[1]]).sum(1)
        return F.binary_cross_entropy_with_logits(logits, exists)
    for _ in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "probabilities of a student given to cross_entropy",
    FAMILY,
    """
    # %% token_tagger.py
    import torch
    from torch import nn
    from torch.nn import functional as F


    class Tagger(nn.Module):
        def __init__(self, vocabulary, width, tags):
            super().__init__()
            self.embed = nn.Embedding(vocabulary, width)
            self.rnn = nn.GRU(width, width, batch_first=True)
            self.out = nn.Linear(width, tags)

        def forward(self, tokens):
            return self.out(self.rnn(self.embed(tokens))[0])

        def probabilities(self, tokens):
            return F.softmax(self(tokens), dim=-1)


    def tagging_loss(model, tokens, tags, padding=0):
        p = model.probabilities(tokens)  # culprit
        flat = p.reshape(-1, p.shape[-1])
        return F.cross_entropy(flat, tags.reshape(-1), ignore_index=padding)  # culprit
    # %%
    from token_tagger import Tagger, tagging_loss
    model = Tagger(6, 3, 4)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    tokens, tags = torch.tensor([[1, 2, 3], [5, 4, 1]]), torch.tensor([[1, 3, 2], [2, 1, 0]])
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = tagging_loss(model, tokens, tags)
        loss.backward()
        optimizer.step()
    """,
    (("p = model.probabilities(tokens)", "p = model(tokens)"),),
    reference="""
    def total():
        logits = model(tokens).flatten(0, 1)
        return F.cross_entropy(logits, tags.flatten(), ignore_index=0)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "advantage trains the critic",
    FAMILY,
    """
    # %% actor_critic.py
    import torch
    from torch import nn
    from torch.distributions import Categorical


    class ActorCritic(nn.Module):
        def __init__(self, states, actions):
            super().__init__()
            self.body = nn.Linear(states, 4)
            self.actor = nn.Linear(4, actions)
            self.critic = nn.Linear(4, 1)

        def forward(self, state):
            h = torch.tanh(self.body(state))
            return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


    def a2c_loss(model, states, actions, returns):
        policy, values = model(states)
        advantage = returns - values
        actor = -(policy.log_prob(actions) * advantage).mean()  # culprit
        return actor + 0.5 * advantage.pow(2).mean() - 0.01 * policy.entropy().mean()
    # %%
    from actor_critic import ActorCritic, a2c_loss
    model = ActorCritic(3, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    states, actions, returns = torch.randn(6, 3), torch.randint(2, (6,)), torch.randn(6)
    # %%
    for step in range(2):
        loss = a2c_loss(model, states, actions, returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    (("policy.log_prob(actions) * advantage)", "policy.log_prob(actions) * advantage.detach())"),),
    reference="""
    for step in range(2):
        optimizer.zero_grad()
        fixed = (returns - model(states)[1]).detach()
        def total():
            policy, values = model(states)
            actor = -(policy.log_prob(actions) * fixed).mean()
            critic = F.mse_loss(values, returns)
            return actor + 0.5 * critic - 0.01 * policy.entropy().mean()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "target projection without stop-gradient",
    FAMILY,
    """
    # %% simsiam.py
    import torch
    from torch import nn


    class SimSiam(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, width))
            self.predictor = nn.Linear(width, width)

        def forward(self, a, b):
            za, zb = self.encoder(a), self.encoder(b)
            return self.predictor(za), self.predictor(zb), za, zb  # culprit


    def similarity(p, z):
        return -nn.functional.cosine_similarity(p, z, dim=1).mean()  # culprit


    def simsiam_loss(model, a, b):
        pa, pb, za, zb = model(a, b)
        return 0.5 * (similarity(pa, zb) + similarity(pb, za))  # culprit
    # %%
    from simsiam import SimSiam, simsiam_loss
    def augment(x, strength=0.3):
        return x + strength * torch.randn_like(x)


    model = SimSiam(4)
    optimizer = optim.SGD(model.parameters(), lr=0.2)
    x = torch.randn(5, 3)
    a, b = augment(x), augment(x)
    # %%
    for epoch in range(2):
        loss = simsiam_loss(model, a, b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    (("self.predictor(zb), za, zb", "self.predictor(zb), za.detach(), zb.detach()"),),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        za, zb = model.encoder(a).detach(), model.encoder(b).detach()
        def total():
            pa, pb = model.predictor(model.encoder(a)), model.predictor(model.encoder(b))
            return -0.5 * sum(F.cosine_similarity(p, z).mean() for p, z in ((pa, zb), (pb, za)))
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "values with a column against returns without",
    FAMILY,
    """
    # %% value_fit.py
    import torch
    from torch import nn


    class ValueNet(nn.Module):
        def __init__(self, states):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(states, 4), nn.Tanh(), nn.Linear(4, 1))

        def forward(self, state):
            return self.net(state)  # culprit


    def discounted(rewards, discount):
        returns, total = [], torch.zeros(())
        for reward in rewards.flip(0):
            total = reward + discount * total
            returns.append(total)
        return torch.stack(returns[::-1])


    def value_loss(net, states, rewards, discount=0.9):
        returns = discounted(rewards, discount)
        return nn.functional.huber_loss(net(states), returns)  # culprit
    # %%
    from value_fit import ValueNet, value_loss
    model = ValueNet(3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    states, rewards = torch.randn(5, 3), torch.randn(5)
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = value_loss(model, states, rewards)
        loss.backward()
        optimizer.step()
    """,
    (("return self.net(state)", "return self.net(state).squeeze(-1)"),),
    (("huber_loss(net(states), returns)", "huber_loss(net(states), returns.unsqueeze(1))"),),
    reference="""
    returns = []
    for reward in rewards.flip(0):
        returns.append(reward + 0.9 * (returns[-1] if returns else 0))
    returns = torch.stack(returns[::-1])
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.huber_loss(model.net(states)[:, 0], returns), model.parameters())
        optimizer.step()
    """,
    raised="",
    accepted=("prediction = prediction.squeeze(1)", "prediction = prediction.squeeze(-1)"),
)
bug(
    "weights of examples against a column of losses",
    FAMILY,
    """
    # %% boosted.py
    import torch
    from torch import nn


    class Weighted(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def loss(self, x, y, weights):
            errors = (self.model(x) - y).pow(2)
            return (weights * errors).sum() / weights.sum()  # culprit


    def example_weights(times):
        age = times.max() - times
        return torch.exp(-0.3 * age)
    # %%
    from boosted import Weighted, example_weights
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    weighted = Weighted(model)
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    x, y, times = torch.randn(5, 3), torch.randn(5, 1), torch.arange(5.0)
    # %%
    weights = example_weights(times)
    for epoch in range(2):
        loss = weighted.loss(x, y, weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    (("(weights * errors).sum()", "(weights * errors.squeeze(1)).sum()"),),
    (("weights = example_weights(times)", "weights = example_weights(times).unsqueeze(1)"),),
    reference="""
    weights = torch.exp(-0.3 * (4 - times))
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(
            lambda: (weights @ (model(x) - y).pow(2)).sum() / weights.sum(), model.parameters()
        )
        optimizer.step()
    """,
    raised="",
)
