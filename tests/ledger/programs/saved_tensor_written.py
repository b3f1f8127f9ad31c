"""A tensor that a node saved was written before backward read it."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "saved tensor written"
MESSAGE = "modified by an inplace operation"

bug(
    "residual added in place",
    FAMILY,
    """
    # %% blocks.py
    import torch
    from torch import nn


    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.fc1 = nn.Linear(width, width)
            self.fc2 = nn.Linear(width, width)

        def forward(self, x):
            residual = x
            x = torch.relu(self.fc1(x))
            x = torch.tanh(self.fc2(x))
            x += residual  # culprit
            return x
    # %%
    from blocks import Block
    model = nn.Sequential(Block(3), nn.Linear(3, 1))
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()  # raises
        optimizer.step()
    """,
    (("x += residual", "x = x + residual"),),
    (("x = torch.tanh(self.fc2(x))", "x = torch.tanh(self.fc2(x)).clone()"),),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
        optimizer.step()
    """,
    variables=("x",),
    message=MESSAGE,
)
bug(
    "gate computed in place",
    FAMILY,
    """
    # %%
    class GatedUnit(nn.Module):
        def __init__(self, inputs, width):
            super().__init__()
            self.value = nn.Linear(inputs, width)
            self.gate = nn.Linear(inputs, width)

        def forward(self, x):
            value = self.value(x)
            gate = self.gate(x)
            skip = gate * value
            weight = gate.sigmoid_()  # culprit
            return weight * value + skip


    model = GatedUnit(3, 2)
    x, target = torch.randn(4, 3), torch.randn(4, 2)
    # %%
    out = model(x)
    loss = (out - target).pow(2).mean()
    loss.backward()  # raises
    """,
    (("weight = gate.sigmoid_()", "weight = gate.sigmoid()"),),
    (("skip = gate * value", "skip = gate.clone() * value"),),
    reference="accumulate(lambda: (model(x) - target).pow(2).mean(), model.parameters())",
    result="[p.grad for p in model.parameters()]",
    variables=("gate", "weight"),
    message=MESSAGE,
)
bug(
    "states of an RNN in one tensor",
    FAMILY,
    """
    # %% rnn.py
    import torch
    from torch import nn


    class Rnn(nn.Module):
        def __init__(self, inputs, hidden):
            super().__init__()
            self.hidden = hidden
            self.cell = nn.Linear(inputs + hidden, hidden)
            self.readout = nn.Linear(hidden, 1)

        def forward(self, x):
            steps, batch, _ = x.shape
            states = torch.zeros(steps + 1, batch, self.hidden)
            for t in range(steps):
                joined = torch.cat([x[t], states[t]], dim=1)
                states[t + 1] = torch.tanh(self.cell(joined) * states[t] + joined[:, :1])  # culprit
            return self.readout(states[-1])
    # %%
    from rnn import Rnn
    model = Rnn(2, 3)
    x, y = torch.randn(4, 5, 2), torch.randn(5, 1)
    criterion = nn.MSELoss()
    # %%
    prediction = model(x)
    loss = criterion(prediction, y)
    loss.backward()  # raises
    """,
    fix(
        "states = torch.zeros(steps + 1, batch, self.hidden)",
        "state = torch.zeros(batch, self.hidden)",
        "joined = torch.cat([x[t], states[t]], dim=1)",
        "joined = torch.cat([x[t], state], dim=1)",
        "states[t + 1] = torch.tanh(self.cell(joined) * states[t] + ",
        "state = torch.tanh(self.cell(joined) * state + ",
        "self.readout(states[-1])",
        "self.readout(state)",
    ),
    fix(
        "states[t]], dim=1)",
        "states[t].clone()], dim=1)",
        "self.cell(joined) * states[t]",
        "self.cell(joined) * states[t].clone()",
    ),
    reference="accumulate(lambda: criterion(model(x), y), model.parameters())",
    result="[p.grad for p in model.parameters()]",
    variables=("states",),
    message=MESSAGE,
)
bug(
    "actor loss from a critic that has stepped",
    FAMILY,
    """
    # %% agent.py
    import torch
    from torch import nn


    class Agent:
        def __init__(self, states, actions, lr):
            self.actor = nn.Sequential(nn.Linear(states, 4), nn.Tanh(), nn.Linear(4, actions))
            self.critic = nn.Sequential(
                nn.Linear(states + actions, 4), nn.Tanh(), nn.Linear(4, 1)
            )
            self.actor_opt = torch.optim.SGD(self.actor.parameters(), lr=lr)
            self.critic_opt = torch.optim.SGD(self.critic.parameters(), lr=lr)

        def q(self, state, action):
            return self.critic(torch.cat([state, action], dim=1))

        def update(self, state, action, reward):
            critic_loss = (self.q(state, action) - reward).pow(2).mean()
            actor_loss = -self.q(state, self.actor(state)).mean()

            self.critic_opt.zero_grad()
            critic_loss.backward()
            self.critic_opt.step()  # culprit

            self.actor_opt.zero_grad()
            actor_loss.backward()  # raises
            self.actor_opt.step()
    # %%
    from agent import Agent
    agent = Agent(3, 2, lr=0.1)
    batch = torch.randn(6, 3), torch.randn(6, 2), torch.randn(6, 1)
    # %%
    for step in range(2):
        agent.update(*batch)
    """,
    fix(
        "        actor_loss = -self.q(state, self.actor(state)).mean()\n",
        "",
        "        self.actor_opt.zero_grad()\n",
        "        self.actor_opt.zero_grad()\n"
        "        actor_loss = -self.q(state, self.actor(state)).mean()\n",
    ),
    reference="""
    state, action, reward = batch
    for step in range(2):
        agent.critic_opt.zero_grad()
        error = lambda: (agent.q(state, action) - reward).pow(2).mean()
        accumulate(error, agent.critic.parameters())
        agent.critic_opt.step()
        agent.actor_opt.zero_grad()
        accumulate(lambda: -agent.q(state, agent.actor(state)).mean(), agent.actor.parameters())
        agent.actor_opt.step()
    """,
    result="[*agent.actor.parameters(), *agent.critic.parameters()]",
    variables=("agent.critic.2.weight", "critic.2.weight", "self.critic.2.weight", "2.weight"),
    message=MESSAGE,
    audit=("", "", ""),
)
bug(
    "discriminator stepped before the generator's backward",
    FAMILY,
    """
    # %% gan.py
    from torch import nn


    class Generator(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 3))

        def forward(self, z):
            return self.body(z)


    class Discriminator(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

        def forward(self, x):
            return self.body(x)
    # %%
    from gan import Discriminator, Generator
    netG, netD = Generator(), Discriminator()
    optG = optim.SGD(netG.parameters(), lr=0.1)
    optD = optim.SGD(netD.parameters(), lr=0.1)
    real, z = torch.randn(5, 3), torch.randn(5, 2)
    ones, zeros = torch.ones(5, 1), torch.zeros(5, 1)
    bce = nn.BCEWithLogitsLoss()
    # %%
    fake = netG(z)
    out_fake = netD(fake)
    loss_d = bce(netD(real), ones) + bce(out_fake, zeros)
    loss_g = bce(out_fake, ones)

    optD.zero_grad()
    loss_d.backward(retain_graph=True)
    optD.step()  # culprit

    optG.zero_grad()
    loss_g.backward()  # raises
    optG.step()
    """,
    fix(
        "loss_g = bce(out_fake, ones)\n",
        "",
        "optG.zero_grad()\n",
        "optG.zero_grad()\nloss_g = bce(netD(fake), ones)\n",
    ),
    reference="""
    accumulate(
        lambda: bce(netD(real), ones) + bce(netD(netG(z)), zeros), list(netD.parameters())
    )
    optD.step()
    accumulate(lambda: bce(netD(netG(z)), ones), netG.parameters())
    optG.step()
    """,
    result="[*netG.parameters(), *netD.parameters()]",
    variables=("netD.body.2.weight", "body.2.weight"),
    message=MESSAGE,
    audit=("loss_g", "netG", "optG"),
)
bug(
    "update by hand of a forward that is kept",
    FAMILY,
    """
    # %%
    class Regression:
        def __init__(self, features):
            self.w = torch.zeros(features, 1).normal_().requires_grad_()
            self.v = torch.zeros(1, features).normal_().requires_grad_()

        def predict(self, x):
            return torch.sin(x @ self.w) @ self.v

        def step(self, lr):
            with torch.no_grad():
                for p in (self.w, self.v):
                    p -= lr * p.grad
                    p.grad = None


    x, y = torch.randn(6, 3), torch.randn(6, 3)
    model = Regression(3)
    # %%
    prediction = model.predict(x)  # culprit
    for epoch in range(3):
        loss = (prediction - y).pow(2).mean()
        loss.backward(retain_graph=True)  # raises
        model.step(0.1)
    """,
    fix(
        "prediction = model.predict(x)\n",
        "",
        "    loss = (prediction - y)",
        "    prediction = model.predict(x)\n    loss = (prediction - y)",
        "retain_graph=True",
        "",
    ),
    reference="""
    for epoch in range(3):
        accumulate(lambda: (model.predict(x) - y).pow(2).mean(), (model.w, model.v))
        model.step(0.1)
    """,
    result="[model.w, model.v]",
    variables=("v", "model.v", "self.v", "w", "model.w", "self.w"),
    message=MESSAGE,
    audit=("loss", "[model.w, model.v]", ""),
    without_gradient=("w", "v"),
)
bug(
    "attention weights masked in place",
    FAMILY,
    """
    # %% attention.py
    import math

    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.q = nn.Linear(width, width)
            self.k = nn.Linear(width, width)
            self.v = nn.Linear(width, width)

        def forward(self, x, mask):
            q, k, v = self.q(x), self.k(x), self.v(x)
            scores = q @ k.transpose(-2, -1) / math.sqrt(x.size(-1))
            weights = torch.softmax(scores, dim=-1)
            weights.masked_fill_(mask, 0.0)  # culprit
            return weights @ v
    # %%
    from attention import Attention
    model = Attention(3)
    x = torch.randn(2, 4, 3)
    mask = torch.ones(4, 4).triu(1).bool()
    target = torch.randn(2, 4, 3)
    # %%
    out = model(x, mask)
    loss = F.l1_loss(out, target)
    loss.backward()  # raises
    """,
    (("weights.masked_fill_(mask, 0.0)", "weights = weights.masked_fill(mask, 0.0)"),),
    reference="accumulate(lambda: F.l1_loss(model(x, mask), target), model.parameters())",
    result="[p.grad for p in model.parameters()]",
    variables=("weights",),
    message=MESSAGE,
)
bug(
    "embedding divided by its norm in place",
    FAMILY,
    """
    # %%
    class Encoder(nn.Module):
        def __init__(self, vocabulary, width):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, width)
            self.project = nn.Linear(width, width)

        def forward(self, tokens):
            return self.project(self.embedding(tokens)).mean(dim=1)


    def normalised(features):
        features /= features.norm(dim=1, keepdim=True)  # culprit
        return features


    def contrastive(a, b, temperature=0.5):
        logits = normalised(a) @ normalised(b).t() / temperature
        return F.cross_entropy(logits, torch.arange(len(a)))


    model = Encoder(10, 3)
    first, second = torch.randint(10, (4, 5)), torch.randint(10, (4, 5))
    # %%
    loss = contrastive(model(first), model(second))
    loss.backward()  # raises
    """,
    fix(
        "features /= features.norm(dim=1, keepdim=True)",
        "features = features / features.norm(dim=1, keepdim=True)",
    ),
    fix(
        "    features /= features.norm(dim=1, keepdim=True)\n    return features",
        "    return F.normalize(features, dim=1)",
    ),
    reference="accumulate(lambda: contrastive(model(first), model(second)), model.parameters())",
    result="[p.grad for p in model.parameters()]",
    variables=("features", "a", "b"),
    message=MESSAGE,
)
bug(
    "codebook moved between forward and backward",
    FAMILY,
    """
    # %% vq.py
    import torch
    from torch import nn


    class Quantizer(nn.Module):
        def __init__(self, codes, width):
            super().__init__()
            self.codebook = nn.Parameter(torch.randn(codes, width))

        def forward(self, z):
            distance = (z.unsqueeze(1) - self.codebook).pow(2).sum(-1)
            soft = torch.softmax(-distance, dim=1)
            return soft @ self.codebook

        @torch.no_grad()
        def move_towards(self, z, rate=0.1):
            nearest = torch.cdist(z, self.codebook).argmin(dim=1)
            for code in range(len(self.codebook)):
                if (nearest == code).any():
                    self.codebook[code].lerp_(z[nearest == code].mean(0), rate)  # culprit
    # %%
    from vq import Quantizer
    encoder = nn.Linear(4, 2)
    quantizer = Quantizer(3, 2)
    decoder = nn.Linear(2, 4)
    model = nn.ModuleList([encoder, quantizer, decoder])
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(6, 4)
    # %%
    z = encoder(x)
    loss = F.mse_loss(decoder(quantizer(z)), x)
    quantizer.move_towards(z)
    optimizer.zero_grad()
    loss.backward()  # raises
    optimizer.step()
    """,
    fix(
        "quantizer.move_towards(z)\n",
        "",
        "loss.backward()\n",
        "loss.backward()\nquantizer.move_towards(z)\n",
    ),
    reference="""
    accumulate(lambda: F.mse_loss(decoder(quantizer(encoder(x))), x), model.parameters())
    quantizer.move_towards(encoder(x))
    optimizer.step()
    """,
    variables=("quantizer.codebook", "codebook", "self.codebook", "model.1.codebook", "1.codebook"),
    message=MESSAGE,
)
bug(
    "spectral norm's vector updated by each forward",
    FAMILY,
    """
    # %% spectral.py
    import torch
    from torch import nn


    class SpectralLinear(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(outputs, inputs))
            self.register_buffer("u", torch.randn(outputs))

        def forward(self, x):
            with torch.no_grad():
                v = self.weight.t() @ self.u
                v = v / v.norm()
                u = self.weight @ v
                self.u.copy_(u / u.norm())  # culprit
            sigma = self.u @ self.weight @ v
            return x @ (self.weight / sigma).t()
    # %%
    from spectral import SpectralLinear
    critic = SpectralLinear(3, 2)
    real, fake = torch.randn(4, 3), torch.randn(4, 3)
    # %%
    score_real = critic(real)
    score_fake = critic(fake)
    loss = F.relu(1 - score_real).mean() + F.relu(1 + score_fake).mean()
    loss.backward()  # raises
    """,
    (("sigma = self.u @ self.weight @ v", "sigma = self.u.clone() @ self.weight @ v"),),
    (("self.u.copy_(u / u.norm())", "self.u = u / u.norm()"),),
    reference="""
    pairs = []
    for data in (real, fake):
        v = critic.weight.t() @ critic.u
        v = v / v.norm()
        u = critic.weight @ v
        critic.u = u / u.norm()
        pairs.append((data, critic.u.detach(), v.detach()))
    def score(data, u, v):
        return data @ (critic.weight / (u @ critic.weight @ v)).t()
    accumulate(
        lambda: F.relu(1 - score(*pairs[0])).mean() + F.relu(1 + score(*pairs[1])).mean(),
        [critic.weight],
    )
    """,
    result="[critic.weight.grad]",
    variables=("critic.u", "u", "self.u"),
    message=MESSAGE,
    audit=("loss", "critic", ""),
)
bug(
    "standard deviation made safe in place",
    FAMILY,
    """
    # %% vae.py
    import torch
    from torch import nn


    class Vae(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(4, 4)
            self.decoder = nn.Linear(2, 4)

        def sample(self, mu, logvar, eps):
            std = torch.exp(0.5 * logvar)
            z = mu + eps * std
            std += 1e-3  # culprit
            return z, std

        def forward(self, x, eps):
            mu, logvar = self.encoder(x).split(2, dim=1)
            z, std = self.sample(mu, logvar, eps)
            kl = 0.5 * (mu.pow(2) + std - logvar - 1).sum(dim=1)
            return self.decoder(z), kl
    # %%
    from vae import Vae
    model = Vae()
    x, eps = torch.randn(5, 4), torch.randn(5, 2)
    # %%
    reconstruction, kl = model(x, eps)
    loss = F.mse_loss(reconstruction, x) + 0.1 * kl.mean()
    loss.backward()  # raises
    """,
    (("std += 1e-3", "std = std + 1e-3"),),
    (("std = torch.exp(0.5 * logvar)", "std = torch.exp(0.5 * logvar).clone()"),),
    reference="""
    def total():
        reconstruction, kl = model(x, eps)
        return F.mse_loss(reconstruction, x) + 0.1 * kl.mean()
    accumulate(total, model.parameters())
    """,
    result="[p.grad for p in model.parameters()]",
    variables=("std",),
    message=MESSAGE,
)
bug(
    "noise drawn again into the same tensor",
    FAMILY,
    """
    # %%
    class NoisyLinear(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.mu = nn.Parameter(torch.randn(outputs, inputs))
            self.sigma = nn.Parameter(torch.full((outputs, inputs), 0.5))
            self.register_buffer("noise", torch.zeros(outputs, inputs))

        def forward(self, x):
            return x @ (self.mu + self.sigma * self.noise).t()

        def draw(self):
            self.noise.uniform_(-1, 1)  # culprit


    q = NoisyLinear(3, 2)
    states, rewards = torch.randn(5, 3), torch.randn(5, 2)
    generator_state = torch.get_rng_state()
    # %%
    losses = []
    for sample in range(3):
        q.draw()
        losses.append(F.smooth_l1_loss(q(states), rewards))
    loss = sum(losses) / len(losses)
    loss.backward()  # raises
    """,
    (("self.noise.uniform_(-1, 1)", "self.noise = torch.empty_like(self.noise).uniform_(-1, 1)"),),
    (("self.sigma * self.noise)", "self.sigma * self.noise.clone())"),),
    reference="""
    def total():
        torch.set_rng_state(generator_state)
        losses = []
        for sample in range(3):
            q.draw()
            losses.append(F.smooth_l1_loss(q(states), rewards))
        return sum(losses) / len(losses)
    accumulate(total, q.parameters())
    """,
    result="[p.grad for p in q.parameters()]",
    variables=("q.noise", "noise", "self.noise"),
    message=MESSAGE,
    audit=("loss", "q", ""),
)
bug(
    "memory of a module cleared before backward",
    FAMILY,
    """
    # %% memory.py
    import torch
    from torch import nn


    class FastWeights(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.key = nn.Linear(width, width)
            self.memory = torch.zeros(width, width)

        def write(self, x):
            k = torch.tanh(self.key(x))
            self.memory = 0.9 * self.memory + k.t() @ k

        def read(self, x):
            return self.key(x) @ self.memory

        def reset(self):
            self.memory.zero_()  # culprit
    # %%
    from memory import FastWeights
    model = FastWeights(3)
    facts, query, answer = torch.randn(4, 3), torch.randn(2, 3), torch.randn(2, 3)
    # %%
    model.write(facts)
    prediction = model.read(query)
    model.reset()
    loss = F.mse_loss(prediction, answer)
    loss.backward()  # raises
    """,
    (("self.memory.zero_()", "self.memory = torch.zeros_like(self.memory)"),),
    (("model.reset()\n", ""), ("loss.backward()", "loss.backward()\nmodel.reset()")),
    reference="""
    def total():
        model.reset()
        model.write(facts)
        return F.mse_loss(model.read(query), answer)
    accumulate(total, model.parameters())
    """,
    result="[p.grad for p in model.parameters()]",
    variables=("model.memory", "memory", "self.memory"),
    message=MESSAGE,
)
bug(
    "activation with inplace=True after sigmoid",
    FAMILY,
    """
    # %% heads.py
    from torch import nn


    def head(inputs, outputs):
        return nn.Sequential(
            nn.Linear(inputs, outputs),
            nn.Sigmoid(),
            nn.LeakyReLU(0.2, inplace=True),  # culprit
        )


    class TwoHeads(nn.Module):
        def __init__(self):
            super().__init__()
            self.trunk = nn.Linear(3, 4)
            self.left = head(4, 1)
            self.right = head(4, 1)

        def forward(self, x):
            shared = self.trunk(x).tanh()
            return self.left(shared) - self.right(shared)  # culprit
    # %%
    from heads import TwoHeads
    model = TwoHeads()
    x, y = torch.randn(6, 3), torch.randn(6, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()  # raises
    optimizer.step()
    """,
    (("nn.LeakyReLU(0.2, inplace=True)", "nn.LeakyReLU(0.2)"),),
    reference="accumulate(lambda: F.mse_loss(model(x), y), model.parameters())\noptimizer.step()",
    result="[p.grad for p in model.parameters()]",
    variables=("self.right.1", "right.1", "model.right.1", "shared"),
    message=MESSAGE,
)
