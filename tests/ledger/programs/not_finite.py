"""Anomaly detection finds a gradient that is not a number."""

from __future__ import annotations

from tests.ledger.bug import bug

FAMILY = "nan found by anomaly detection"

bug(
    "distance of equal embeddings",
    FAMILY,
    """
    # %% triplets.py
    import torch
    from torch import nn


    def distance(a, b):
        return (a - b).pow(2).sum(1).sqrt()  # culprit


    class TripletLoss(nn.Module):
        def __init__(self, margin):
            super().__init__()
            self.margin = margin

        def forward(self, anchor, positive, negative):
            gap = distance(anchor, positive) - distance(anchor, negative)
            return (gap + self.margin).relu().mean()
    # %%
    from triplets import TripletLoss
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    criterion = TripletLoss(3.0)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    anchor, positive, negative = torch.randn(3, 4, 3)
    positive[2] = anchor[2]
    # %%
    with torch.autograd.detect_anomaly():
        loss = criterion(model(anchor), model(positive), model(negative))
        optimizer.zero_grad()
        loss.backward()  # raises
        optimizer.step()
    """,
    ((".pow(2).sum(1).sqrt()", ".pow(2).sum(1).clamp_min(1e-24).sqrt()"),),
    (("(a - b).pow(2).sum(1).sqrt()", "torch.linalg.vector_norm(a - b, dim=1)"),),
    reference="""
    accumulate(
        lambda: criterion(model(anchor), model(positive), model(negative)), model.parameters()
    )
    optimizer.step()
    """,
    variables=("a", "b", "a - b", "anchor", "positive", "(a - b).pow(2)", "(a - b).pow(2).sum(1)"),
    message="returned nan values in its 0th output",
    without_gradient=("2.bias",),  # it cancels
)
bug(
    "entropy of masked actions",
    FAMILY,
    """
    # %% policy.py
    import torch
    from torch import nn


    class MaskedPolicy(nn.Module):
        def __init__(self, states, actions):
            super().__init__()
            self.logits = nn.Linear(states, actions)

        def forward(self, state, allowed):
            scores = self.logits(state).masked_fill(~allowed, float("-inf"))
            return scores.softmax(1)


    def entropy(p):
        terms = p * p.log()  # culprit
        return -torch.where(p > 0, terms, torch.zeros_like(p)).sum(1)  # culprit
    # %%
    from policy import MaskedPolicy, entropy
    model = MaskedPolicy(3, 4)
    states, action, reward = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 2]), torch.randn(5)
    allowed = torch.tensor([True, True, True, False]).expand(5, 4)
    # %%
    with torch.autograd.detect_anomaly():
        p = model(states, allowed)
        chosen = p.gather(1, action[:, None]).squeeze(1)
        loss = -(chosen.log() * reward + 0.1 * entropy(p)).mean()
        loss.backward()  # raises
    """,
    (("terms = p * p.log()", "terms = p * p.clamp_min(1e-30).log()"),),
    (("terms = p * p.log()", "terms = p * torch.where(p > 0, p, torch.ones_like(p)).log()"),),
    reference="""
    def total():
        logp = model.logits(states)[:, :3].log_softmax(1)
        chosen = logp.gather(1, action[:, None]).squeeze(1)
        return -(chosen * reward - 0.1 * (logp.exp() * logp).sum(1)).mean()
    accumulate(total, model.parameters())
    """,
    result="[p.grad for p in model.parameters()]",
    variables=("p", "terms", "p.log()"),
    message="returned nan values in its",
)
