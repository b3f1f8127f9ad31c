"""Torch raises nothing, and a gradient is missing because the graph ends too early."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "silent: the graph is cut"

bug(
    "encoder's output detached by accident",
    FAMILY,
    """
    # %% autoencoder.py
    from torch import nn


    class Autoencoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(4, 2)
            self.decoder = nn.Linear(2, 4)

        def encode(self, x):
            return self.encoder(x).tanh().detach()  # culprit

        def forward(self, x):
            return self.decoder(self.encode(x))
    # %%
    from autoencoder import Autoencoder
    model = Autoencoder()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(6, 4)
    # %%
    for epoch in range(2):
        loss = F.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    (("self.encoder(x).tanh().detach()", "self.encoder(x).tanh()"),),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), x), model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "auxiliary loss read as a number",
    FAMILY,
    """
    # %% losses.py
    from torch.nn import functional as F


    class JointLoss:
        def __init__(self, weight):
            self.weight = weight
            self.log = []

        def __call__(self, logits, labels, embedding):
            main = F.cross_entropy(logits, labels)
            spread = embedding.std(dim=0).mean().item()  # culprit
            self.log.append((main.item(), spread))
            return main - self.weight * spread
    # %%
    from losses import JointLoss
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Linear(3, 2)
            self.classify = nn.Linear(2, 2)

        def forward(self, x):
            z = self.embed(x)
            return self.classify(z), z


    model, criterion = Model(), JointLoss(0.5)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, labels = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
    # %%
    for epoch in range(2):
        logits, z = model(x)
        loss = criterion(logits, labels, z)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    fix(
        "embedding.std(dim=0).mean().item()",
        "embedding.std(dim=0).mean()",
        "main.item(), spread)",
        "main.item(), spread.item())",
    ),
    reference="""
    def total():
        logits, z = model(x)
        return F.cross_entropy(logits, labels) - 0.5 * z.std(dim=0).mean()
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "scores wrapped in a new tensor, another term has a graph",
    FAMILY,
    """
    # %% ranking.py
    import torch
    from torch.nn import functional as F


    def ranking_loss(model, positives, negatives):
        gaps = []
        for p, n in zip(positives, negatives):
            gaps.append(model(p) - model(n))
        gaps = torch.tensor(gaps)  # culprit
        return F.softplus(-gaps).mean()


    def weight_decay(model, strength=0.01):
        return strength * sum(p.pow(2).sum() for p in model.parameters())
    # %%
    from ranking import ranking_loss, weight_decay
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    positives, negatives = torch.randn(4, 3), torch.randn(4, 3)
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = ranking_loss(model, positives, negatives) + weight_decay(model)
        loss.backward()
        optimizer.step()
    """,
    (("gaps = torch.tensor(gaps)", "gaps = torch.stack(gaps)"),),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(
            lambda: ranking_loss(model, positives, negatives) + weight_decay(model),
            model.parameters(),
        )
        optimizer.step()
    """,
    raised="",
)
bug(
    "student's logits under the teacher's no_grad",
    FAMILY,
    """
    # %% distillation.py
    import torch
    from torch.nn import functional as F


    def distillation_step(student, teacher, x, labels, optimizer, alpha=0.5):
        with torch.no_grad():  # culprit
            soft = teacher(x).softmax(dim=1)
            guess = student(x).log_softmax(dim=1)  # culprit
        hard = F.cross_entropy(student(x), labels)
        loss = alpha * F.kl_div(guess, soft, reduction="batchmean") + (1 - alpha) * hard
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss
    # %%
    from distillation import distillation_step
    student, teacher = nn.Linear(4, 3), nn.Linear(4, 3)
    optimizer = optim.SGD(student.parameters(), lr=0.5)
    x, labels = torch.randn(6, 4), torch.tensor([0, 1, 2, 2, 1, 0])
    # %%
    for epoch in range(2):
        loss = distillation_step(student, teacher, x, labels, optimizer)
    """,
    fix(
        "        guess = student(x).log_softmax(dim=1)\n",
        "    guess = student(x).log_softmax(dim=1)\n",
    ),
    reference="""
    soft = teacher(x).softmax(dim=1).detach()
    def total():
        logits = student(x)
        kl = F.kl_div(logits.log_softmax(dim=1), soft, reduction="batchmean")
        return 0.5 * kl + 0.5 * F.cross_entropy(logits, labels)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(total, student.parameters())
        optimizer.step()
    """,
    result="list(student.parameters())",
    raised="",
    audit=("loss", "student", "optimizer"),
    without_gradient=("teacher.weight", "teacher.bias"),
)
bug(
    "features through NumPy beside a path that keeps the graph",
    FAMILY,
    """
    # %% filters.py
    import numpy as np
    import torch


    def moving_average(signal, width=2):
        array = signal.detach().numpy()  # culprit
        kernel = np.ones(width) / width
        rows = [np.convolve(row, kernel, mode="same") for row in array]
        return torch.as_tensor(np.array(rows))
    # %%
    from filters import moving_average
    class Forecaster(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(4, 4)
            self.outer = nn.Linear(4, 1)

        def forward(self, x):
            h = torch.tanh(self.inner(x))
            return self.outer(h.relu() + moving_average(h))


    model = Forecaster()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(5, 4), torch.randn(5, 1)
    # %%
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    """,
    fix(
        "    array = signal.detach().numpy()\n    kernel = np.ones(width) / width\n",
        "    kernel = torch.ones(1, 1, width) / width\n",
        '    rows = [np.convolve(row, kernel, mode="same") for row in array]\n'
        "    return torch.as_tensor(np.array(rows))",
        "    padded = torch.nn.functional.pad(signal.unsqueeze(1), (width - 1, 0))\n"
        "    return torch.conv1d(padded, kernel).squeeze(1)",
    ),
    reference="accumulate(lambda: F.mse_loss(model(x), y), model.parameters())\noptimizer.step()",
    raised="",
)
bug(
    "custom Function gives no gradient for a parameter",
    FAMILY,
    """
    # %% activation.py
    import torch
    from torch import nn


    class _Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, beta):
            ctx.save_for_backward(x, beta)
            return x * torch.sigmoid(beta * x)

        @staticmethod
        def backward(ctx, grad):
            x, beta = ctx.saved_tensors
            s = torch.sigmoid(beta * x)
            return grad * (s + beta * x * s * (1 - s)), None  # culprit


    class Swish(nn.Module):
        def __init__(self):
            super().__init__()
            self.beta = nn.Parameter(torch.ones(1))

        def forward(self, x):
            return _Swish.apply(x, self.beta)
    # %%
    from activation import Swish
    model = nn.Sequential(nn.Linear(3, 4), Swish(), nn.Linear(4, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    """,
    (("(1 - s)), None", "(1 - s)), (grad * x * x * s * (1 - s)).sum().reshape(1)"),),
    reference="""
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "rounded inside the model",
    FAMILY,
    """
    # %% pose.py
    from torch import nn


    class KeypointNet(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.backbone = nn.Linear(4, 6)
            self.coordinates = nn.Linear(6, 2)
            self.confidence = nn.Linear(6, 1)
            self.size = size

        def forward(self, x):
            h = self.backbone(x).tanh()
            pixels = (self.coordinates(h).sigmoid() * self.size).round()  # culprit
            return pixels / self.size, self.confidence(h)
    # %%
    from pose import KeypointNet
    model = KeypointNet(16)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, points, seen = torch.randn(5, 4), torch.rand(5, 2), torch.ones(5, 1)
    # %%
    for epoch in range(2):
        where, score = model(x)
        loss = F.mse_loss(where, points) + F.binary_cross_entropy_with_logits(score, seen)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    fix(
        "pixels = (self.coordinates(h).sigmoid() * self.size).round()\n"
        "        return pixels / self.size",
        "pixels = self.coordinates(h).sigmoid() * self.size\n        return pixels / self.size",
    ),
    reference="""
    def total():
        h = model.backbone(x).tanh()
        where, score = model.coordinates(h).sigmoid(), model.confidence(h)
        return F.mse_loss(where, points) + F.binary_cross_entropy_with_logits(score, seen)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "hard choice of an expert",
    FAMILY,
    """
    # %% mixture_of_experts.py
    import torch
    from torch import nn


    class Mixture(nn.Module):
        def __init__(self, experts=2):
            super().__init__()
            self.gate = nn.Linear(3, experts)
            self.experts = nn.ModuleList(nn.Linear(3, 1) for _ in range(experts))

        def forward(self, x):
            scores = self.gate(x)
            chosen = nn.functional.one_hot(scores.argmax(dim=1), len(self.experts))  # culprit
            outputs = torch.cat([expert(x) for expert in self.experts], dim=1)
            return (chosen * outputs).sum(dim=1, keepdim=True)
    # %%
    from mixture_of_experts import Mixture
    model = Mixture()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(6, 3), torch.randn(6, 1)
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    """,
    fix(
        "chosen = nn.functional.one_hot(scores.argmax(dim=1), len(self.experts))",
        "chosen = scores.softmax(dim=1)",
    ),
    reference="""
    def total():
        outputs = torch.cat([expert(x) for expert in model.experts], dim=1)
        return F.mse_loss((model.gate(x).softmax(1) * outputs).sum(1, keepdim=True), y)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "Variable of the data of a loss",
    FAMILY,
    """
    # %% engine.py
    from torch.autograd import Variable


    class Engine:
        def __init__(self, model, optimizer, criterion):
            self.model, self.optimizer, self.criterion = model, optimizer, criterion

        def train(self, x, y):
            loss = self.criterion(self.model(x), y)
            loss = Variable(loss.data, requires_grad=True)  # culprit
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return loss
    # %%
    from engine import Engine
    model = nn.Linear(3, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    engine = Engine(model, optimizer, nn.MSELoss())
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    for epoch in range(3):
        loss = engine.train(x, y)
    """,
    (("        loss = Variable(loss.data, requires_grad=True)\n", ""),),
    reference="""
    for epoch in range(3):
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(x), y), model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "gradient penalty without create_graph",
    FAMILY,
    """
    # %% wgan_gp.py
    import torch


    def gradient_penalty(critic, real, fake, mix):
        between = (mix * real + (1 - mix) * fake).requires_grad_()
        score = critic(between).sum()
        (slope,) = torch.autograd.grad(score, between)  # culprit
        return (slope.norm(dim=1) - 1).pow(2).mean()


    def critic_loss(critic, real, fake, mix, weight=10.0):
        penalty = gradient_penalty(critic, real, fake, mix)
        return critic(fake).mean() - critic(real).mean() + weight * penalty
    # %%
    from wgan_gp import critic_loss
    critic = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.SGD(critic.parameters(), lr=0.05)
    real, fake, mix = torch.randn(5, 3), torch.randn(5, 3), torch.rand(5, 1)
    # %%
    for step in range(2):
        optimizer.zero_grad()
        loss = critic_loss(critic, real, fake, mix)
        loss.backward()
        optimizer.step()
    """,
    fix(
        "torch.autograd.grad(score, between)",
        "torch.autograd.grad(score, between, create_graph=True)",
    ),
    reference="""
    def total():
        with torch.enable_grad():
            return critic_loss(critic, real, fake, mix)
    for step in range(2):
        optimizer.zero_grad()
        accumulate(total, critic.parameters())
        optimizer.step()
    """,
    result="list(critic.parameters())",
    raised="",
    audit=("loss", "critic", "optimizer"),
    without_gradient=("2.bias",),  # it cancels
)
