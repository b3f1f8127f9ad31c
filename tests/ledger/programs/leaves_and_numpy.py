"""Integers that cannot require grad, buffers given as ``out=``, and losses that NumPy computes."""

from __future__ import annotations

from tests.ledger.bug import bug, fix

FAMILY = "integers, out=, NumPy"

bug(
    "saliency of token ids",
    FAMILY,
    """
    # %% saliency.py
    import torch
    from torch import nn


    class TextClassifier(nn.Module):
        def __init__(self, vocabulary, width):
            super().__init__()
            self.embed = nn.Embedding(vocabulary, width)
            self.rnn = nn.RNN(width, width, batch_first=True)
            self.out = nn.Linear(width, 2)

        def forward(self, embedded):
            return self.out(self.rnn(embedded)[0][:, -1])


    def saliency(model, tokens, label):
        tokens = tokens.clone().requires_grad_()  # culprit raises
        embedded = model.embed(tokens)
        model(embedded)[:, label].sum().backward()
        return tokens.grad.abs()  # culprit
    # %%
    from saliency import TextClassifier, saliency
    model = TextClassifier(7, 3)
    tokens = torch.tensor([[1, 4, 2], [6, 0, 3]])
    # %%
    scores = saliency(model, tokens, 1)
    """,
    fix(
        "    tokens = tokens.clone().requires_grad_()\n    embedded = model.embed(tokens)\n",
        "    embedded = model.embed(tokens).detach().requires_grad_()\n",
        "return tokens.grad.abs()",
        "return embedded.grad.abs().sum(-1)",
    ),
    reference="""
    embedded = model.embed(tokens).detach()
    accumulate(lambda: model(embedded)[:, 1].sum(), [embedded])
    scores = embedded.grad.abs().sum(-1)
    """,
    result="[scores]",
    variables=("tokens", "tokens.clone()"),
    message="only Tensors of floating point dtype can require gradients",
    audit=("", "", ""),
)
bug(
    "coefficients of a polynomial are integers",
    FAMILY,
    """
    # %% polynomial.py
    import torch


    class Polynomial:
        def __init__(self, start):
            self.coefficients = torch.tensor(start, requires_grad=True)  # culprit raises

        def __call__(self, x):
            powers = torch.stack([x ** n for n in range(len(self.coefficients))], 1)
            return powers.to(self.coefficients.dtype) @ self.coefficients


    def fit(polynomial, x, y, lr, steps):
        optimizer = torch.optim.SGD([polynomial.coefficients], lr=lr)
        for _ in range(steps):
            optimizer.zero_grad()
            loss = (polynomial(x) - y).abs().mean()
            loss.backward()
            optimizer.step()
    # %%
    from polynomial import Polynomial, fit
    x = torch.linspace(-1, 1, 6)
    y = 0.5 - 2 * x + 0.3 * x ** 2
    # %%
    polynomial = Polynomial([1, 0, 2])
    fit(polynomial, x, y, lr=0.1, steps=2)
    """,
    fix(
        "torch.tensor(start, requires_grad=True)",
        "torch.tensor(start, dtype=torch.float32, requires_grad=True)",
    ),
    (("Polynomial([1, 0, 2])", "Polynomial([1.0, 0.0, 2.0])"),),
    reference="""
    coefficients = torch.tensor([1.0, 0.0, 2.0])
    for _ in range(2):
        coefficients.grad = None
        powers = torch.stack([x ** n for n in range(3)], 1)
        accumulate(lambda: (powers @ coefficients - y).abs().mean(), [coefficients])
        coefficients = coefficients - 0.1 * coefficients.grad
    class polynomial:
        pass
    polynomial.coefficients = coefficients
    """,
    result="[polynomial.coefficients]",
    variables=("self.coefficients", "start", "coefficients"),
    message="Only Tensors of floating point and complex dtype can require gradients",
    accepted=("self.coefficients = torch.tensor(start, dtype=torch.float32, requires_grad=True)",),
    audit=("", "", ""),
)
bug(
    "scores of attention written into a buffer",
    FAMILY,
    """
    # %% buffered.py
    import torch
    from torch import nn


    class BufferedAttention(nn.Module):
        def __init__(self, width, length):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
            self.register_buffer("scores", torch.empty(2, length, length))

        def forward(self, x):
            q, k = self.q(x), self.k(x)
            torch.bmm(q, k.transpose(1, 2), out=self.scores)  # culprit raises
            return self.scores.softmax(-1) @ self.v(x)
    # %%
    from buffered import BufferedAttention
    model = nn.Sequential(BufferedAttention(3, 4), nn.Linear(3, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(2, 4, 3), torch.randn(2, 4, 1)
    # %%
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    """,
    fix(
        "torch.bmm(q, k.transpose(1, 2), out=self.scores)",
        "scores = torch.bmm(q, k.transpose(1, 2))",
        "return self.scores.softmax(-1)",
        "return scores.softmax(-1)",
    ),
    fix(
        "torch.bmm(q, k.transpose(1, 2), out=self.scores)",
        "self.scores = torch.bmm(q, k.transpose(1, 2))",
    ),
    reference="""
    def total():
        first = model[0]
        scores = first.q(x) @ first.k(x).mT
        return F.mse_loss(model[1](scores.softmax(-1) @ first.v(x)), y)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    variables=("q", "k", "self.scores", "k.transpose(1, 2)", "model.0.scores"),
    message="functions with out=... arguments don't support automatic differentiation",
    accepted=("self.scores = torch.bmm(q, k.transpose(1, 2))",),
    without_gradient=("0.k.bias",),  # it cancels
)
bug(
    "root of a loss taken by NumPy",
    FAMILY,
    """
    # %% rmse.py
    import numpy as np
    from torch import nn


    class RmseLoss(nn.Module):
        def __init__(self, weights):
            super().__init__()
            self.mse = nn.MSELoss(reduction="none")
            self.weights = weights

        def forward(self, prediction, target):
            squared = self.mse(prediction, target) * self.weights
            return np.sqrt(squared.mean())  # culprit raises
    # %%
    from rmse import RmseLoss
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    criterion = RmseLoss(torch.tensor([1.0, 0.5]))
    loader = [(torch.randn(4, 3), torch.randn(4, 2)) for _ in range(2)]
    # %%
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    """,
    (("np.sqrt(squared.mean())", "squared.mean().sqrt()"),),
    reference="""
    for x, y in loader:
        optimizer.zero_grad()
        accumulate(
            lambda: ((model(x) - y).pow(2) * criterion.weights).mean().sqrt(), model.parameters()
        )
        optimizer.step()
    """,
    variables=("squared", "squared.mean()"),
    message="Can't call numpy() on Tensor that requires grad",
    accepted=(
        "return torch.sqrt(squared.mean())",
        "torch.sqrt(squared.mean())",
        "squared.mean().sqrt()",
    ),
)
bug(
    "mean of the losses of an epoch by NumPy",
    FAMILY,
    """
    # %% history.py
    import numpy as np


    class History:
        def __init__(self):
            self.epochs, self.running = [], []

        def add(self, loss):
            self.running.append(loss)  # culprit

        def end_epoch(self):
            self.epochs.append(np.mean(self.running))  # culprit raises
            self.running = []


    def train_epoch(model, loader, optimizer, history):
        for x, y in loader:
            optimizer.zero_grad()
            loss = (model(x) - y).abs().mean()
            loss.backward()
            optimizer.step()
            history.add(loss)
        history.end_epoch()
    # %%
    from history import History, train_epoch
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    loader = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(2)]
    history = History()
    # %%
    for epoch in range(2):
        train_epoch(model, loader, optimizer, history)
    """,
    (("self.running.append(loss)", "self.running.append(loss.item())"),),
    (("history.add(loss)", "history.add(loss.detach())"),),
    reference="""
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            accumulate(lambda: (model(x) - y).abs().mean(), model.parameters())
            optimizer.step()
    """,
    variables=("self.running", "loss", "self.running[0]", "history.running", "history.running[0]"),
    message="Can't call numpy() on Tensor that requires grad",
    accepted=(
        "self.running.append(loss.item())",
        "self.running.append(loss.detach())",
        "self.epochs.append(np.mean([one.item() for one in self.running]))",
    ),
    audit=("", "", ""),
)
