"""Programs in which a gradient is asked for, and backward cannot start or a leaf is written."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.ledger.bug import explained, fix

NOT_SCALAR: Final = "grad can be implicitly created only for scalar outputs"
LEAF: Final = "is being used in an in-place operation"
program = partial(explained, "explained: gradients asked for")

# --- gradients of each example ---------------------------------------------------------------

program(
    "velocity field of a potential",
    ("potential", "u"),
    """
    # %% flow.py
    import torch
    from torch import nn

    class Flow(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))

        def potential(self, z):
            return self.net(z).squeeze(-1)

        def forward(self, z):
            z = z.requires_grad_()
            u = self.potential(z)
            return -torch.autograd.grad(u, z, create_graph=True)[0]  # raises culprit
    # %%
    from flow import Flow
    model, z = Flow(), torch.randn(5, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    v = model(z)
    loss = (v - 1).pow(2).mean()
    loss.backward()
    """,
    (("grad(u, z", "grad(u.sum(), z"),),
    result="[v, *[p.grad for p in model.parameters()]]",
    message=NOT_SCALAR,
    without_gradient=("model.net.2.bias",),
)
program(
    "saliency of the highest scores",
    ("top", "scores"),
    """
    # %%
    model, images = nn.Sequential(nn.Flatten(), nn.Linear(4, 3)), torch.rand(2, 1, 2, 2)
    # %%
    images.requires_grad_()
    top = model(images).max(dim=1).values
    top.backward()  # raises culprit
    saliency = images.grad.abs()
    """,
    (("top.backward()", "top.sum().backward()"),),
    result="[saliency]",
    message=NOT_SCALAR,
)
program(
    "loss of each example goes backward",
    ("loss",),
    """
    # %% fit.py
    import torch
    from torch import nn

    def step(model, x, y, optimizer):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y, reduction="none")  # culprit
        loss.backward()  # raises
        optimizer.step()
        return loss
    # %%
    from fit import step
    model, x, y = nn.Linear(3, 2), torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    step(model, x, y, optimizer)
    """,
    (("loss.backward()", "loss.mean().backward()"),),
    result="list(model.parameters())",
    message=NOT_SCALAR,
)
program(
    "gradients of parameters of a loss of each example",
    ("losses",),
    """
    # %%
    model, x, y = nn.Linear(3, 1), torch.randn(4, 3), torch.randn(4, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    # %%
    losses = (model(x) - y).pow(2)  # culprit
    grads = torch.autograd.grad(losses, list(model.parameters()))  # raises
    """,
    (("grad(losses,", "grad(losses.mean(),"),),
    result="list(grads)",
    message=NOT_SCALAR,
)

# --- a leaf that is written before it is used ------------------------------------------------

program(
    "images for an attack normalised in place by a helper",
    ("images", "batch", "x"),
    """
    # %% scaling.py
    class Scaling:
        def __init__(self, mean, std):
            self.mean, self.std = mean, std

        def __call__(self, batch):
            return batch.sub_(self.mean).div_(self.std)  # raises culprit
    # %%
    from scaling import Scaling
    model, images = nn.Sequential(nn.Flatten(), nn.Linear(4, 3)), torch.rand(2, 1, 2, 2)
    scale = Scaling(0.5, 0.25)
    # %%
    images.requires_grad_()
    loss = F.cross_entropy(model(scale(images)), torch.tensor([0, 2]))
    loss.backward()
    attacked = images + 0.1 * images.grad.sign()
    """,
    fix("return batch.sub_(self.mean).div_(self.std)", "return (batch - self.mean) / self.std"),
    result="[images.grad, attacked]",
    message=LEAF,
)
program(
    "input clamped in place before its gradient is asked for",
    ("x", "given"),
    """
    # %% limit.py
    def limited(given, low, high):
        given.clamp_(low, high)  # raises culprit
        return given
    # %%
    from limit import limited
    model, x = nn.Linear(3, 1), torch.randn(4, 3)
    # %%
    x.requires_grad_()
    score = model(limited(x, -1.0, 1.0)).sum()
    gradient, = torch.autograd.grad(score, x)
    """,
    (("given.clamp_(low, high)", "given = given.clamp(low, high)"),),
    result="[gradient]",
    message=LEAF,
)
program(
    "noise added in place to an input that requires grad",
    ("x", "batch"),
    """
    # %% noise.py
    import torch

    def noisy(batch, noise):
        batch += 0.1 * noise  # raises culprit
        return torch.tanh(batch)
    # %%
    from noise import noisy
    model, noise = nn.Linear(3, 1), torch.randn(4, 3)
    x = torch.randn(4, 3, requires_grad=True)
    # %%
    loss = model(noisy(x, noise)).pow(2).mean()
    loss.backward()
    """,
    (("batch += 0.1 * noise", "batch = batch + 0.1 * noise"),),
    result="[x.grad, *[p.grad for p in model.parameters()]]",
    message=LEAF,
)
program(
    "step of gradient descent by a helper",
    ("w", "weight"),
    """
    # %% descent.py
    import torch

    def descend(weight, rate):
        weight -= rate * weight.grad  # raises culprit
        weight.grad = None
    # %%
    from descent import descend
    w, x = torch.ones(3, requires_grad=True), torch.randn(4, 3)
    # %%
    for _ in range(2):
        loss = (x @ w).pow(2).mean()
        loss.backward()
        descend(w, 0.1)
    """,
    fix(
        "    weight -= rate * weight.grad",
        "    with torch.no_grad():\n        weight -= rate * weight.grad",
    ),
    result="[w]",
    message=LEAF,
)
program(
    "perturbation projected in place by a helper",
    ("delta", "d"),
    """
    # %% project.py
    import torch

    def project(d, size):
        d.clamp_(-size, size)  # raises culprit
        return torch.isfinite(d).all()
    # %%
    from project import project
    model, x = nn.Linear(3, 1), torch.randn(4, 3)
    delta = torch.zeros(4, 3, requires_grad=True)
    optimizer = optim.SGD([delta], lr=1.0)
    # %%
    for _ in range(2):
        optimizer.zero_grad()
        loss = -model(x + delta).sum()
        loss.backward()
        optimizer.step()
        project(delta, 0.05)
    """,
    fix("    d.clamp_(-size, size)", "    with torch.no_grad():\n        d.clamp_(-size, size)"),
    result="[delta]",
    message=LEAF,
)
