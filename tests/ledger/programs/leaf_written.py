"""A leaf that requires grad is written where autograd records."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "leaf written"
MESSAGE = "is being used in an in-place operation"

bug(
    "gradient descent by hand",
    FAMILY,
    """
    # %%
    class LinearRegression:
        def __init__(self, features):
            self.w = torch.zeros(features, requires_grad=True)
            self.b = torch.zeros(1, requires_grad=True)

        def __call__(self, x):
            return x @ self.w + self.b

        def update(self, lr):
            self.w -= lr * self.w.grad  # culprit raises
            self.b -= lr * self.b.grad
            self.w.grad = None
            self.b.grad = None


    x, y = torch.randn(6, 3), torch.randn(6)
    model = LinearRegression(3)
    # %%
    for epoch in range(2):
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        model.update(0.1)
    """,
    fix(
        "        self.w -= lr * self.w.grad\n        self.b -= lr * self.b.grad\n",
        "        with torch.no_grad():\n"
        "            self.w -= lr * self.w.grad\n"
        "            self.b -= lr * self.b.grad\n",
    ),
    (("    def update(self, lr):", "    @torch.no_grad()\n    def update(self, lr):"),),
    reference="""
    for epoch in range(2):
        accumulate(lambda: (model(x) - y).pow(2).mean(), (model.w, model.b))
        with torch.no_grad():
            model.update(0.1)
    """,
    result="[model.w, model.b]",
    variables=("self.w", "model.w", "w"),
    message=MESSAGE,
    audit=("loss", "[model.w, model.b]", ""),
)
bug(
    "positions written into a parameter",
    FAMILY,
    """
    # %% encoding.py
    import torch
    from torch import nn


    class PositionalEncoding(nn.Module):
        def __init__(self, length, width):
            super().__init__()
            angles = torch.arange(length).unsqueeze(1) / 10 ** torch.arange(0, width, 2)
            self.pe = nn.Parameter(torch.zeros(length, width))
            self.pe[:, 0::2] = torch.sin(angles)  # culprit raises
            self.pe[:, 1::2] = torch.cos(angles)

        def forward(self, x):
            return x + self.pe[: x.size(1)]
    # %%
    from encoding import PositionalEncoding
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = PositionalEncoding(5, 4)
            self.out = nn.Linear(4, 1)

        def forward(self, x):
            return self.out(torch.tanh(self.encode(x)))

    x = torch.randn(2, 3, 4)
    # %%
    torch.manual_seed(1)
    model = Model()
    loss = model(x).pow(2).mean()
    loss.backward()
    """,
    fix(
        "        self.pe = nn.Parameter(torch.zeros(length, width))\n",
        "        pe = torch.zeros(length, width)\n",
        "        self.pe[:, 0::2] = torch.sin(angles)\n"
        "        self.pe[:, 1::2] = torch.cos(angles)\n",
        "        pe[:, 0::2] = torch.sin(angles)\n"
        "        pe[:, 1::2] = torch.cos(angles)\n"
        "        self.pe = nn.Parameter(pe)\n",
    ),
    fix(
        "        self.pe[:, 0::2] = torch.sin(angles)\n"
        "        self.pe[:, 1::2] = torch.cos(angles)\n",
        "        with torch.no_grad():\n"
        "            self.pe[:, 0::2] = torch.sin(angles)\n"
        "            self.pe[:, 1::2] = torch.cos(angles)\n",
    ),
    reference="""
    torch.manual_seed(1)
    with torch.no_grad():
        model = Model()
    accumulate(lambda: model(x).pow(2).mean(), model.parameters())
    """,
    result="[p.grad for p in model.parameters()]",
    variables=("self.pe", "pe"),
    message=MESSAGE,
)
bug(
    "weights of a critic clipped",
    FAMILY,
    """
    # %% wgan.py
    import torch
    from torch import nn


    class Critic(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))

        def forward(self, x):
            return self.net(x)

        def clip(self, bound):
            for p in self.parameters():
                p.clamp_(-bound, bound)  # culprit raises
    # %%
    from wgan import Critic
    critic = Critic()
    optimizer = optim.SGD(critic.parameters(), lr=0.5)
    batches = [(torch.randn(4, 3), torch.randn(4, 3)) for _ in range(2)]
    # %%
    for real, fake in batches:
        optimizer.zero_grad()
        loss = critic(fake).mean() - critic(real).mean()
        loss.backward()
        optimizer.step()
        critic.clip(0.3)
    """,
    (("p.clamp_(-bound, bound)", "p.data.clamp_(-bound, bound)"),),
    (("    def clip(self, bound):", "    @torch.no_grad()\n    def clip(self, bound):"),),
    reference="""
    for real, fake in batches:
        optimizer.zero_grad()
        accumulate(lambda: critic(fake).mean() - critic(real).mean(), critic.parameters())
        optimizer.step()
        with torch.no_grad():
            critic.clip(0.3)
    """,
    result="list(critic.parameters())",
    variables=("p", "critic.net.0.weight", "net.0.weight", "self.net.0.weight"),
    without_gradient=("net.2.bias",),  # it cancels
    message=MESSAGE,
    audit=("loss", "critic", "optimizer"),
)
bug(
    "perturbation moved along its gradient",
    FAMILY,
    """
    # %% pgd.py
    import torch
    from torch.nn import functional as F


    def pgd(model, x, y, steps=2, alpha=0.1, epsilon=0.15):
        delta = torch.zeros_like(x, requires_grad=True)
        for _ in range(steps):
            loss = F.cross_entropy(model(x + delta), y)
            loss.backward()
            delta += alpha * delta.grad.sign()  # culprit raises
            delta.data.clamp_(-epsilon, epsilon)
            delta.grad.zero_()
        return delta.detach()
    # %%
    from pgd import pgd
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
    x, y = torch.rand(3, 4), torch.tensor([0, 2, 1])
    # %%
    delta = pgd(model, x, y)
    """,
    (("delta += alpha * delta.grad.sign()", "delta.data += alpha * delta.grad.sign()"),),
    fix(
        "        delta += alpha * delta.grad.sign()\n",
        "        with torch.no_grad():\n            delta += alpha * delta.grad.sign()\n",
    ),
    reference="""
    delta = torch.zeros_like(x)
    for _ in range(2):
        delta.grad = None
        accumulate(lambda: F.cross_entropy(model(x + delta), y), [delta])
        delta = (delta + 0.1 * delta.grad.sign()).clamp(-0.15, 0.15)
    """,
    result="[delta]",
    variables=("delta",),
    message=MESSAGE,
    audit=("", "", ""),
)
bug(
    "features added to token embeddings",
    FAMILY,
    """
    # %% prompt.py
    import torch
    from torch import nn


    class PromptTuner(nn.Module):
        def __init__(self, prompts, width):
            super().__init__()
            self.prompt = nn.Parameter(torch.randn(prompts, width))
            self.image = nn.Linear(3, width)
            self.score = nn.Linear(width, 1)

        def forward(self, image):
            embeds = self.prompt
            embeds += self.image(image)  # culprit raises
            return self.score(torch.tanh(embeds)).mean()
    # %%
    from prompt import PromptTuner
    model = PromptTuner(2, 4)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    images = torch.randn(2, 3)
    # %%
    for image in images:
        optimizer.zero_grad()
        loss = model(image)
        loss.backward()
        optimizer.step()
    """,
    (("embeds += self.image(image)", "embeds = embeds + self.image(image)"),),
    (("embeds = self.prompt", "embeds = self.prompt.clone()"),),
    reference="""
    def value(image):
        return model.score(torch.tanh(model.prompt + model.image(image))).mean()
    for image in images:
        optimizer.zero_grad()
        accumulate(lambda: value(image), model.parameters())
        optimizer.step()
    """,
    variables=("embeds", "self.prompt", "model.prompt", "prompt"),
    message=MESSAGE,
)
bug(
    "running mean in a parameter",
    FAMILY,
    """
    # %% centering.py
    import torch
    from torch import nn


    class Center(nn.Module):
        def __init__(self, width, momentum=0.9):
            super().__init__()
            self.momentum = momentum
            self.mean = nn.Parameter(torch.zeros(width))  # culprit

        def forward(self, x):
            if self.training:
                batch = x.detach().mean(dim=0)
                self.mean.mul_(self.momentum).add_(batch, alpha=1 - self.momentum)  # culprit raises
            return x - self.mean
    # %%
    from centering import Center
    model = nn.Sequential(nn.Linear(3, 2), Center(2), nn.Tanh(), nn.Linear(2, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    """,
    fix(
        "self.mean = nn.Parameter(torch.zeros(width))",
        'self.register_buffer("mean", torch.zeros(width))',
    ),
    reference="""
    h = model[0](x).detach()
    center = 0.1 * h.mean(0)
    accumulate(
        lambda: F.mse_loss(model[3](torch.tanh(model[0](x) - center)), y),
        [*model[0].parameters(), *model[3].parameters()],
    )
    optimizer.step()
    """,
    result="[*model[0].parameters(), *model[3].parameters()]",
    variables=("self.mean", "model.1.mean", "1.mean", "mean"),
    message=MESSAGE,
    accepted=('self.register_buffer("mean", torch.zeros(width))',),
)
