"""Derivatives of derivatives: physics-informed networks and gradient penalties."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "derivatives of derivatives"

bug(
    "second derivative of a gradient without a graph",
    FAMILY,
    """
    # %% pinn.py
    import torch
    from torch import nn


    def derivative(y, x):
        return torch.autograd.grad(y, x, torch.ones_like(y))[0]  # culprit raises


    class Pinn(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, 1))

        def forward(self, x):
            return self.net(x)

        def residual(self, x):
            u = self(x)
            u_xx = derivative(derivative(u, x), x)
            return u_xx + u
    # %%
    from pinn import Pinn
    model = Pinn(4)
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    x = torch.linspace(0, 1, 5).unsqueeze(1).requires_grad_()
    start = torch.zeros(1, 1)
    # %%
    for step in range(2):
        optimizer.zero_grad()
        loss = model.residual(x).pow(2).mean() + (model(start) - 1).pow(2).sum()
        loss.backward()
        optimizer.step()
    """,
    (("torch.ones_like(y))[0]", "torch.ones_like(y), create_graph=True)[0]"),),
    reference="""
    def total():
        first, last = model.net[0], model.net[2]
        t = torch.tanh(first(x))
        curved = -2 * t * (1 - t * t) * first.weight[:, 0] ** 2
        residual = curved @ last.weight.t() + last(t)
        return residual.pow(2).mean() + (model(start) - 1).pow(2).sum()
    for step in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    variables=("y", "derivative(u, x)"),
    message="does not require grad",
    accepted=("return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]",),
)
bug(
    "coordinates of a residual do not require grad",
    FAMILY,
    """
    # %% burgers.py
    import torch
    from torch import nn


    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))

        def forward(self, t, x):
            return self.net(torch.stack([t, x], 1)).squeeze(1)


    def transport(field, t, x, speed=1.0):
        u = field(t, x)
        u_t, u_x = torch.autograd.grad(u.sum(), (t, x), create_graph=True)  # raises
        return u_t + speed * u_x
    # %%
    from burgers import Field, transport
    def sample(n):
        return torch.rand(n), torch.rand(n)  # culprit


    field = Field()
    optimizer = optim.SGD(field.parameters(), lr=0.05)
    # %%
    torch.manual_seed(1)
    for step in range(2):
        t, x = sample(4)
        loss = transport(field, t, x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    fix(
        "return torch.rand(n), torch.rand(n)",
        "return torch.rand(n, requires_grad=True), torch.rand(n, requires_grad=True)",
    ),
    fix(
        "    u = field(t, x)\n",
        "    t.requires_grad_()\n    x.requires_grad_()\n    u = field(t, x)\n",
    ),
    reference="""
    torch.manual_seed(1)
    for step in range(2):
        t, x = sample(4)
        def total():
            first, last = field.net[0], field.net[2]
            h = torch.tanh(first(torch.stack([t, x], 1)))
            return (((1 - h * h) * first.weight.sum(1)) @ last.weight.t()).pow(2).mean()
        optimizer.zero_grad()
        accumulate(total, field.parameters())
        optimizer.step()
    """,
    result="list(field.parameters())",
    variables=("t", "x"),
    message="One of the differentiated Tensors does not require grad",
    audit=("loss", "field", "optimizer"),
    without_gradient=("net.2.bias",),  # it cancels
    accepted=("t.requires_grad_()", "x.requires_grad_()"),
)
bug(
    "derivative of a whole batch",
    FAMILY,
    """
    # %% oscillator.py
    import torch
    from torch import nn


    class Oscillator(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))
            self.rate = nn.Parameter(torch.tensor(0.5))

        def decay(self, t):
            u = self.net(t)
            (u_t,) = torch.autograd.grad(u, t, create_graph=True)  # culprit raises
            return u_t + self.rate * u
    # %%
    from oscillator import Oscillator
    model = Oscillator()
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    t = torch.linspace(0, 1, 5).unsqueeze(1).requires_grad_()
    measured = torch.exp(-t.detach())
    # %%
    for step in range(2):
        optimizer.zero_grad()
        loss = model.decay(t).pow(2).mean() + F.mse_loss(model.net(t), measured)
        loss.backward()
        optimizer.step()
    """,
    (("torch.autograd.grad(u, t,", "torch.autograd.grad(u, t, torch.ones_like(u),"),),
    (("torch.autograd.grad(u, t,", "torch.autograd.grad(u.sum(), t,"),),
    reference="""
    def total():
        first, last = model.net[0], model.net[2]
        h = torch.tanh(first(t))
        u_t = ((1 - h * h) * first.weight[:, 0]) @ last.weight.t()
        return (u_t + model.rate * last(h)).pow(2).mean() + F.mse_loss(last(h), measured)
    for step in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    variables=("u",),
    message="grad can be implicitly created only for scalar outputs",
    also_right=((("torch.autograd.grad(u, t,", "torch.autograd.grad(u.mean(), t,"),),),
    accepted=(
        "(u_t,) = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)",
        "(u_t,) = torch.autograd.grad(u.sum(), t, create_graph=True)",
    ),
)
bug(
    "penalty through fused attention",
    FAMILY,
    """
    # %% critic.py
    import torch
    from torch import nn


    class Critic(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width)
            self.score = nn.Linear(width, 1)

        def forward(self, tokens):
            q, k, v = self.qkv(tokens).unsqueeze(1).chunk(3, dim=-1)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v)  # culprit
            return self.score(mixed.squeeze(1).mean(1)).sum()


    def penalty(critic, real, fake, at):
        between = torch.lerp(fake, real, at).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between), between, create_graph=True)
        return (slope.flatten(1).norm(dim=1) - 1).pow(2).mean()
    # %%
    from critic import Critic, penalty
    critic = Critic(3)
    optimizer = optim.SGD(critic.parameters(), lr=0.05)
    real, fake, at = torch.randn(2, 4, 3), torch.randn(2, 4, 3), torch.rand(2, 1, 1)
    # %%
    optimizer.zero_grad()
    loss = critic(fake) - critic(real) + 10 * penalty(critic, real, fake, at)
    loss.backward()  # raises
    optimizer.step()
    """,
    fix(
        "nn.functional.scaled_dot_product_attention(q, k, v)",
        "(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v",
    ),
    fix(
        "        mixed = nn.functional.scaled_dot_product_attention(q, k, v)\n",
        "        with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):\n"
        "            mixed = nn.functional.scaled_dot_product_attention(q, k, v)\n",
    ),
    reference="""
    def total():
        with torch.enable_grad():
            return critic(fake) - critic(real) + 10 * penalty(critic, real, fake, at)
    accumulate(total, critic.parameters())
    optimizer.step()
    """,
    result="list(critic.parameters())",
    variables=("mixed", "q", "k", "v", "self.qkv(tokens).unsqueeze(1)"),
    message="is not implemented",
    audit=("loss", "critic", "optimizer"),
    without_gradient=("score.bias",),  # it cancels
)
bug(
    "curvature of a radial basis network",
    FAMILY,
    """
    # %% rbf.py
    import torch
    from torch import nn


    class Rbf(nn.Module):
        def __init__(self, centers):
            super().__init__()
            self.centers = nn.Parameter(torch.randn(centers, 2))
            self.weight = nn.Parameter(torch.randn(centers))

        def forward(self, x):
            distance = torch.cdist(x, self.centers)  # culprit
            return torch.exp(-distance.pow(2)) @ self.weight


    def laplacian(u, x):
        (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        parts = [  # raises
            torch.autograd.grad(slope[:, n].sum(), x, create_graph=True)[0][:, n]  # raises
            for n in range(x.shape[1])
        ]
        return sum(parts)
    # %%
    from rbf import Rbf, laplacian
    model = Rbf(3)
    x, source = torch.rand(4, 2, requires_grad=True), torch.rand(4)
    # %%
    loss = F.mse_loss(laplacian(model(x), x), source)
    loss.backward()
    """,
    fix(
        "        distance = torch.cdist(x, self.centers)\n"
        "        return torch.exp(-distance.pow(2)) @ self.weight",
        "        apart = (x.unsqueeze(1) - self.centers).pow(2).sum(-1)\n"
        "        return torch.exp(-apart) @ self.weight",
    ),
    reference="""
    def total():
        apart = (x.unsqueeze(1) - model.centers).pow(2).sum(-1)
        bent = ((4 * apart - 4) * torch.exp(-apart)) @ model.weight
        return F.mse_loss(bent, source)
    accumulate(total, model.parameters())
    """,
    result="[p.grad for p in model.parameters()]",
    variables=("distance", "x", "self.centers", "model.centers", "slope"),
    raised="NotImplementedError",
    message="the derivative for '_cdist_backward' is not implemented",
    without_gradient=(),
)
