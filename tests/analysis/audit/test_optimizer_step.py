"""What an audit says of ``optimizer.step()``, beside what the step does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim
from torch.optim import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop

import gradviz
from gradviz.model.audit import Audit
from tests.each import each

OPTIMIZERS: dict[str, Callable[[Any], Optimizer]] = {
    "SGD": lambda p: SGD(p, lr=0.1),
    "SGD that rests": lambda p: SGD(p, lr=0.0, momentum=0.9),
    "SGD with momentum": lambda p: SGD(p, lr=0.1, momentum=0.9),
    "SGD with weight decay": lambda p: SGD(p, lr=0.1, weight_decay=0.1),
    "SGD one by one": lambda p: SGD(p, lr=0.1, foreach=False),
    "Adam": lambda p: Adam(p, lr=0.1),
    "Adam that rests": lambda p: Adam(p, lr=0.0),
    "Adam with a tensor": lambda p: Adam(p, lr=torch.tensor(0.1)),
    "AdamW": lambda p: AdamW(p, lr=0.1, weight_decay=0.1),
    "AdamW without decay": lambda p: AdamW(p, lr=0.1, weight_decay=0.0),
}


class Net(nn.Module):
    """A parameter for each way in which a step may take, or not take, a parameter."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.used = nn.Parameter(torch.rand(3) + 0.5)
        self.unused = nn.Parameter(torch.rand(3) + 0.5)
        self.frozen = nn.Parameter(torch.rand(3) + 0.5)
        self.frozen_with_grad = nn.Parameter(torch.rand(3) + 0.5)
        self.stale = nn.Parameter(torch.rand(3) + 0.5)
        self.dead = nn.Parameter(torch.rand(3) + 0.5)
        self.broken = nn.Parameter(torch.rand(3) + 0.5)
        self.zero = nn.Parameter(torch.zeros(3))
        self.empty = nn.Parameter(torch.zeros(0))
        self.outside = nn.Parameter(torch.rand(3))
        self.frozen.requires_grad_(False)

    def forward(self) -> Tensor:
        total: Tensor = self.used.sum() + self.frozen.sum() + self.outside.sum()
        total = total + (self.dead * 0.0).sum() + (self.zero * 0.0).sum() + self.empty.sum()
        return total + (self.broken / 0.0).sum() + self.frozen_with_grad.sum()


def ready(make: Callable[[Any], Optimizer], steps: int) -> tuple[Net, Optimizer]:
    """A net and an optimizer that has made some steps in which everything had a gradient."""
    net = Net()
    optimizer = make([p for n, p in net.named_parameters() if n != "outside"])
    for _ in range(steps):
        for parameter in net.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        optimizer.zero_grad()
    net.stale.grad = torch.ones(3)
    return net, optimizer


def moved(net: nn.Module, step: Callable[[], Any]) -> dict[str, bool]:
    before = {name: p.detach().clone() for name, p in net.named_parameters()}
    step()
    return {n: not torch.equal(p.detach(), before[n]) for n, p in net.named_parameters()}


@each("steps", [0, 2])
@each("name", OPTIMIZERS)
def test_a_step_changes_exactly_what_the_audit_says(name: str, steps: int) -> None:
    net, optimizer = ready(OPTIMIZERS[name], steps)
    loss = net()
    loss.backward()
    net.frozen_with_grad.requires_grad_(False)
    audit: Audit = gradviz.audit(loss, net, optimizer).findings
    said = {row.name: row.updated for row in audit}
    assert None not in said.values()
    assert said == moved(net, optimizer.step)


@each("name", OPTIMIZERS)
def test_before_backward_the_audit_says_what_the_step_after_it_changes(name: str) -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1), nn.Linear(1, 1))
    model[2].weight.requires_grad_(False)
    optimizer = OPTIMIZERS[name](list(model.parameters())[:-1])
    loss = model(torch.rand(4, 2)).sum()
    audit: Audit = gradviz.audit(loss, model, optimizer).findings
    loss.backward()
    assert {row.name: row.updated for row in audit} == moved(model, optimizer.step)


def test_from_which_gradient_a_step_comes_is_told() -> None:
    net, optimizer = ready(OPTIMIZERS["SGD with momentum"], 1)
    loss = net()
    net.used.grad = torch.ones(3)
    before = gradviz.audit(loss, net, optimizer)
    assert before["used"].update == ".grad + backward()"
    assert before["dead"].update == "backward()"
    assert before["unused"].update == ".grad is None"
    assert (before["stale"].update, before["stale"].stale) == ("stale .grad", True)
    loss.backward()
    net.frozen_with_grad.requires_grad_(False)
    after = gradviz.audit(loss, net, optimizer)
    assert {row.name: row.update for row in after.findings} == {
        "used": ".grad",
        "unused": ".grad is None",
        "frozen": ".grad is None",
        "frozen_with_grad": ".grad of a frozen parameter",
        "stale": "stale .grad",
        "dead": "weight decay or momentum",
        "broken": ".grad with nan or inf",
        "zero": "weight decay or momentum",
        "empty": "it has no elements",
        "outside": "not in the optimizer",
    }
    assert "frozen_with_grad is frozen, but SGD.step() still updates it." in (
        after.findings.sentences
    )


def test_what_a_grad_holds_is_counted() -> None:
    p = nn.Parameter(torch.zeros(2, 3))
    loss = (p * 1).sum()
    loss.backward()
    p.grad = torch.tensor([[0.0, 3.0, 4.0], [0.0, 0.0, 0.0]])
    grad = gradviz.audit(loss, [p])["p"].grad
    assert (grad.numbers, grad.zeros, grad.nan, grad.inf, grad.norm) == (6, 4, 0, 0, 5.0)
    p.grad = torch.tensor([[0.0, float("nan"), 4.0], [float("inf"), -float("inf"), 0.0]])
    grad = gradviz.audit(loss, [p])["p"].grad
    assert (grad.zeros, grad.nan, grad.inf, grad.norm) == (2, 1, 2, "nan")


def test_sparse_gradients_are_counted_and_refused_by_those_who_refuse_them() -> None:
    def build() -> tuple[nn.Embedding, Tensor]:
        table = nn.Embedding(4, 2, sparse=True)
        loss = table(torch.tensor([1, 1])).sum()
        loss.backward()
        return table, loss

    table, loss = build()
    assert table.weight.grad is not None
    assert not table.weight.grad.is_coalesced()
    row = gradviz.audit(loss, table, SGD(table.parameters(), lr=0.1))["weight"]
    assert not table.weight.grad.is_coalesced()
    assert (row.grad.layout, row.grad.numbers, row.grad.zeros) == ("sparse_coo", 8, 6)
    assert row.grad.norm == float(f"{8**0.5:.6g}")
    assert row.updated is True
    optimizer = Adam(table.parameters(), lr=0.1)
    row = gradviz.audit(loss, table, optimizer)["weight"]
    assert (row.updated, row.update) == (False, "Adam refuses a sparse .grad")
    with pytest.raises(RuntimeError, match="sparse"):
        optimizer.step()


def test_groups_and_settings_are_told() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    groups = [
        {"params": model[0].parameters(), "lr": 0.0},
        {"params": [model[1].weight], "weight_decay": 0.5},
    ]
    optimizer = SGD(groups, lr=0.25, momentum=0.9)
    loss = model(torch.rand(4, 2)).sum()
    report = gradviz.audit(loss, model, optimizer)
    assert [(row.name, row.group, row.updated) for row in report.findings] == [
        ("0.weight", 0, False),
        ("0.bias", 0, False),
        ("1.weight", 1, True),
        ("1.bias", None, False),
    ]
    (table,) = [t for t in report.tables if t.caption == "groups of SGD"]
    assert [(r["group"], r["tensors"], r["lr"], r["weight_decay"]) for r in table] == [
        (0, 2, 0.0, 0),
        (1, 1, 0.25, 0.5),
    ]
    loss.backward()
    said = {row.name: row.updated for row in gradviz.audit(loss, model, optimizer).findings}
    assert said == moved(model, optimizer.step)


class Mine(SGD):
    """Nobody knows what this one does."""


def test_what_is_not_known_of_an_optimizer_is_not_claimed() -> None:
    p, q = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    loss = (p * 0.0).sum()
    loss.backward()
    others = [Mine([p, q], lr=0.1), torch.optim.LBFGS([p, q]), RMSprop([p, q]), Adagrad([p, q])]
    said = [gradviz.audit(loss, {"p": p, "q": q}, o) for o in others]
    assert [report["p"].updated for report in said] == [None, None, None, None]
    assert [report["q"].updated for report in said] == [None, None, False, False]
    assert said[0]["p"].update == "what Mine.step() does is not known"
    assert said[1]["p"].update == "step(closure) computes new gradients"


def test_an_optimizer_of_another_model_changes_nothing_here() -> None:
    model, other = nn.Linear(2, 2), nn.Linear(2, 2)
    optimizer = SGD(other.parameters(), lr=0.1)
    report = gradviz.audit(model(torch.ones(1, 2)).sum(), model, optimizer)
    assert [row.updated for row in report.findings] == [False, False]
    assert "The optimizer has 2 more tensors that are no parameters of this model." in (
        report.findings.sentences
    )


class Wrapper:
    """Keeps an optimizer as accelerate and Lightning do."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"reading {name} runs code of the user")


@pytest.mark.parametrize("wrap", [Wrapper, lambda o: optim.lr_scheduler.StepLR(o, 1)])
def test_an_optimizer_is_found_in_what_wraps_it(wrap: Callable[[Any], Any]) -> None:
    net = Net()
    audit = gradviz.audit(
        net.used.sum(),
        net,
        wrap(
            Wrapper(SGD(net.parameters(), lr=0.1))
            if wrap is Wrapper
            else SGD(net.parameters(), lr=0.1)
        ),
    ).findings
    assert audit.optimizer.name == "SGD"
    assert audit["used"].updated is True


def test_a_grad_scaler_has_no_optimizer() -> None:
    net = Net()
    with pytest.raises(gradviz.OptionError, match=r"scaler\.step\(optimizer\)"):
        gradviz.audit(net.used.sum(), net, torch.amp.GradScaler("cpu"))
