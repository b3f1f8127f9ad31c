"""Torch raises nothing, and a part of a gradient is missing: a value left torch and came back."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "silent: partial gradients"

bug(
    "learned standard deviation read as a number",
    FAMILY,
    """
    # %% likelihood.py
    import math

    import torch
    from torch import nn


    class GaussianHead(nn.Module):
        def __init__(self, inputs):
            super().__init__()
            self.mean = nn.Linear(inputs, 1)
            self.variance = nn.Parameter(torch.tensor(0.5))

        def negative_log_likelihood(self, x, y):
            squared = (y - self.mean(x)).pow(2)
            normaliser = math.log(self.variance)  # culprit
            return 0.5 * (squared / self.variance + normaliser).mean()
    # %%
    from likelihood import GaussianHead
    model = GaussianHead(3)
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    x, y = torch.randn(6, 3), torch.randn(6, 1)
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = model.negative_log_likelihood(x, y)
        loss.backward()
        optimizer.step()
    """,
    (("math.log(self.variance)", "torch.log(self.variance)"),),
    reference="""
    def total():
        squared = (y - model.mean(x)).pow(2)
        return 0.5 * (squared / model.variance + model.variance.log()).mean()
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "norm of a feature divided out as a number",
    FAMILY,
    """
    # %% cosine_head.py
    import torch
    from torch import nn


    class CosineHead(nn.Module):
        def __init__(self, width, classes, scale=4.0):
            super().__init__()
            self.embed = nn.Linear(3, width)
            self.proxies = nn.Parameter(torch.randn(classes, width))
            self.scale = scale

        def forward(self, x):
            rows = []
            for z in self.embed(x):
                rows.append(z / z.norm().item())  # culprit
            proxies = nn.functional.normalize(self.proxies, dim=1)
            return self.scale * torch.stack(rows) @ proxies.t()
    # %%
    from cosine_head import CosineHead
    model = CosineHead(4, 3)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, labels = torch.randn(4, 3), torch.tensor([0, 2, 1, 1])
    # %%
    for epoch in range(2):
        loss = F.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    (("rows.append(z / z.norm().item())", "rows.append(z / z.norm())"),),
    reference="""
    def total():
        z = F.normalize(model.embed(x), dim=1)
        return F.cross_entropy(4 * z @ F.normalize(model.proxies, dim=1).t(), labels)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "width of a kernel passes through NumPy",
    FAMILY,
    """
    # %% gaussian_process.py
    import numpy as np
    import torch
    from torch import nn


    class Kernel(nn.Module):
        def __init__(self):
            super().__init__()
            self.log_width = nn.Parameter(torch.tensor(0.2))
            self.log_noise = nn.Parameter(torch.tensor(-1.0))

        def forward(self, a, b):
            width = np.exp(self.log_width.detach().numpy())  # culprit
            squared = (a.unsqueeze(1) - b).pow(2)
            return torch.exp(-squared / (2 * float(width) ** 2)) * torch.exp(self.log_width)


    def evidence(kernel, x, y):
        covariance = kernel(x, x) + kernel.log_noise.exp() * torch.eye(len(x))
        fit = y @ torch.linalg.solve(covariance, y)
        return 0.5 * (fit + torch.logdet(covariance))
    # %%
    from gaussian_process import Kernel, evidence
    kernel = Kernel()
    optimizer = optim.SGD(kernel.parameters(), lr=0.1)
    x = torch.linspace(0, 1, 5)
    y = torch.sin(4 * x)
    # %%
    for step in range(2):
        optimizer.zero_grad()
        loss = evidence(kernel, x, y)
        loss.backward()
        optimizer.step()
    """,
    fix(
        "np.exp(self.log_width.detach().numpy())",
        "torch.exp(self.log_width)",
        "2 * float(width) ** 2",
        "2 * width ** 2",
    ),
    reference="""
    def total():
        width = kernel.log_width.exp()
        k = torch.exp(-(x.unsqueeze(1) - x).pow(2) / (2 * width ** 2)) * width
        k = k + kernel.log_noise.exp() * torch.eye(5)
        return 0.5 * (y @ torch.linalg.inv(k) @ y + torch.logdet(k))
    for step in range(2):
        optimizer.zero_grad()
        accumulate(total, kernel.parameters())
        optimizer.step()
    """,
    result="list(kernel.parameters())",
    raised="",
    audit=("loss", "kernel", "optimizer"),
)
bug(
    "weights of a loss rebuilt from a list",
    FAMILY,
    """
    # %% uncertainty.py
    import math

    import torch
    from torch import nn


    class UncertaintyWeighted(nn.Module):
        def __init__(self, tasks):
            super().__init__()
            self.log_vars = nn.Parameter(torch.zeros(tasks))

        def forward(self, losses):
            precision = torch.tensor([math.exp(-v) for v in self.log_vars.tolist()])  # culprit
            return (precision * torch.stack(losses)).sum() + self.log_vars.sum()
    # %%
    from uncertainty import UncertaintyWeighted
    model = nn.ModuleDict({"net": nn.Linear(3, 2), "weigh": UncertaintyWeighted(2)})
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(5, 3), torch.randn(5, 2)
    # %%
    for epoch in range(2):
        out = model["net"](x)
        losses = [F.mse_loss(out[:, task], y[:, task]) for task in (0, 1)]
        loss = model["weigh"](losses)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    fix(
        "torch.tensor([math.exp(-v) for v in self.log_vars.tolist()])", "torch.exp(-self.log_vars)"
    ),
    reference="""
    def total():
        out, s = model["net"](x), model["weigh"].log_vars
        each = torch.stack([F.mse_loss(out[:, task], y[:, task]) for task in (0, 1)])
        return ((-s).exp() * each).sum() + s.sum()
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "step size of a solver computed by Python",
    FAMILY,
    """
    # %% neural_ode.py
    import torch
    from torch import nn


    class Dynamics(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(width, 4), nn.Tanh(), nn.Linear(4, width))

        def forward(self, state):
            return self.net(state)


    def integrate(dynamics, state, until=1.0, reach=0.4):
        time = 0.0
        while time < until:
            slope = dynamics(state)
            step = min(reach / float(slope.abs().max()), until - time)  # culprit
            state = state + step * slope
            time += step
        return state
    # %%
    from neural_ode import Dynamics, integrate
    model = Dynamics(2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    start, end = torch.randn(4, 2), torch.randn(4, 2)
    # %%
    for epoch in range(2):
        loss = F.mse_loss(integrate(model, start), end)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    fix(
        "step = min(reach / float(slope.abs().max()), until - time)",
        "step = torch.clamp(reach / slope.abs().max(), max=until - time)",
    ),
    reference="""
    def total():
        state, time = start, torch.zeros(())
        while time < 1:
            slope = model(state)
            step = torch.minimum(0.4 / slope.abs().max(), 1 - time)
            state, time = state + step * slope, time + step
        return F.mse_loss(state, end)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "perplexity of an LSTM weighs its own loss",
    FAMILY,
    """
    # %% language_model.py
    import torch
    from torch import nn


    class LanguageModel(nn.Module):
        def __init__(self, vocabulary, width):
            super().__init__()
            self.embed = nn.Embedding(vocabulary, width)
            self.lstm = nn.LSTM(width, width, batch_first=True)
            self.out = nn.Linear(width, vocabulary)

        def forward(self, tokens):
            return self.out(self.lstm(self.embed(tokens))[0])


    def focal_loss(logits, targets, gamma=2.0):
        errors = nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
        hard = 1 - torch.exp(-errors)
        weights = torch.from_numpy(hard.detach().numpy() ** gamma)  # culprit
        return (weights * errors).mean()
    # %%
    from language_model import LanguageModel, focal_loss
    model = LanguageModel(5, 3)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    text = torch.tensor([[1, 4, 2, 0], [3, 3, 1, 2]])
    # %%
    for epoch in range(2):
        loss = focal_loss(model(text[:, :-1]), text[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    (("weights = torch.from_numpy(hard.detach().numpy() ** gamma)", "weights = hard ** gamma"),),
    reference="""
    def total():
        logits = model(text[:, :-1]).transpose(1, 2)
        errors = F.cross_entropy(logits, text[:, 1:], reduction="none")
        return ((1 - (-errors).exp()) ** 2 * errors).mean()
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    raised="",
)
