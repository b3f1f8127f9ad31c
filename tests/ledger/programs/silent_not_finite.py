"""Torch raises nothing, and a value or gradient becomes nan or inf."""

from __future__ import annotations

from tests.ledger.bug import bug

FAMILY = "silent: nan and inf"

bug(
    "row of attention that is masked as a whole",
    FAMILY,
    """
    # %% padded_attention.py
    import torch
    from torch import nn


    class PaddedAttention(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

        def forward(self, x, keep):
            scores = self.q(x) @ self.k(x).mT / x.shape[-1] ** 0.5
            scores = scores.masked_fill(~keep.unsqueeze(1), float("-inf"))  # culprit
            return scores.softmax(-1) @ self.v(x)  # culprit


    def pooled(h, keep):
        counts = keep.sum(1, keepdim=True).clamp_min(1)
        return (h * keep.unsqueeze(-1)).sum(1) / counts
    # %%
    from padded_attention import PaddedAttention, pooled
    model = nn.ModuleList([PaddedAttention(3), nn.Linear(3, 1)])
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(3, 2, 3), torch.randn(3, 1)
    keep = torch.tensor([[True, True], [True, False], [False, False]])
    # %%
    for epoch in range(2):
        attend, out = model
        loss = F.mse_loss(out(pooled(attend(x, keep), keep)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    (('float("-inf")', "-1e9"),),
    reference="""
    def total():
        attend, out = model
        scores = attend.q(x) @ attend.k(x).mT / 3 ** 0.5 - 1e9 * (~keep).double().unsqueeze(1)
        return F.mse_loss(out(pooled(scores.softmax(-1) @ attend.v(x), keep)), y)
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters())
        optimizer.step()
    """,
    raised="",
    without_gradient=("0.k.bias",),  # it cancels
)
bug(
    "root of a distance of zero",
    FAMILY,
    """
    # %% graph_layout.py
    import torch
    from torch import nn


    class Layout(nn.Module):
        def __init__(self, points):
            super().__init__()
            self.points = nn.Parameter(points.clone())

        def distances(self):
            apart = self.points.unsqueeze(1) - self.points
            return apart.pow(2).sum(-1).sqrt()  # culprit

        def forward(self, wanted):
            return (self.distances() - wanted).pow(2).mean()
    # %%
    from graph_layout import Layout
    def hops(edges, nodes):
        wanted = torch.full((nodes, nodes), 2.0).fill_diagonal_(0)
        for a, b in edges:
            wanted[a, b] = wanted[b, a] = 1.0
        return wanted


    model = Layout(torch.randn(4, 2))
    wanted = hops([(0, 1), (1, 2), (2, 3)], 4)
    # %%
    optimizer = optim.SGD(model.parameters(), lr=0.2)
    for step in range(2):
        optimizer.zero_grad()
        loss = model(wanted)
        loss.backward()
        optimizer.step()
    """,
    (("apart.pow(2).sum(-1).sqrt()", "apart.pow(2).sum(-1).clamp_min(1e-24).sqrt()"),),
    (("apart.pow(2).sum(-1).sqrt()", "torch.linalg.vector_norm(apart, dim=-1)"),),
    reference="""
    optimizer = optim.SGD(model.parameters(), lr=0.2)
    for step in range(2):
        optimizer.zero_grad()
        accumulate(lambda: model(wanted), model.parameters())
        optimizer.step()
    """,
    raised="",
)
bug(
    "logarithm of a probability that is zero",
    FAMILY,
    """
    # %% cross_entropy_by_hand.py
    import torch
    from torch import nn


    class Classifier(nn.Module):
        def __init__(self, classes):
            super().__init__()
            self.body = nn.Linear(3, 4)
            self.out = nn.Linear(4, classes)

        def forward(self, x):
            logits = self.out(torch.relu(self.body(x)))
            return torch.softmax(logits, dim=1)


    def cross_entropy(p, labels):
        one_hot = nn.functional.one_hot(labels, p.shape[1])
        return -(one_hot * torch.log(p)).sum(1).mean()  # culprit
    # %%
    from cross_entropy_by_hand import Classifier, cross_entropy
    model = Classifier(3)
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    x, labels = torch.randn(5, 3), torch.tensor([0, 2, 1, 0, 2])
    x[3] = torch.tensor([4e3, -9e3, 5e3])
    # %%
    for epoch in range(2):
        loss = cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    (("torch.log(p)", "torch.log(p.clamp_min(1e-300))"),),
    reference="""
    def total():
        return -(F.one_hot(labels, 3) * model(x).clamp_min(1e-300).log()).sum(1).mean()
    for epoch in range(2):
        optimizer.zero_grad()
        accumulate(total, model.parameters(), by=1e-8)
        optimizer.step()
    """,
    raised="",
)
bug(
    "standard deviation of one example",
    FAMILY,
    """
    # %% normalise.py
    import torch
    from torch import nn


    class BatchScale(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(width))

        def forward(self, h):
            centred = h - h.mean(0)
            return self.gain * centred / (h.std(0) + 1e-5)  # culprit


    def batches(x, y, size):
        for start in range(0, len(x), size):
            yield x[start:start + size], y[start:start + size]
    # %%
    from normalise import BatchScale, batches
    model = nn.Sequential(nn.Linear(3, 4), BatchScale(4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    # %%
    for xs, ys in batches(x, y, 2):
        loss = F.mse_loss(model(xs), ys)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """,
    (("range(0, len(x), size)", "range(0, len(x) - size + 1, size)"),),
    reference="""
    for xs, ys in list(batches(x, y, 2))[:2]:
        optimizer.zero_grad()
        accumulate(lambda: F.mse_loss(model(xs), ys), model.parameters())
        optimizer.step()
    """,
    raised="",
    without_gradient=("0.bias",),  # it cancels
)
