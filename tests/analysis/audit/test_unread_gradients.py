"""An audit reads as many numbers as a snapshot does, and each gradient once."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import gradviz
from gradviz.capture import gradients, statistics, values
from gradviz.capture.values import BUDGET, LEAST

MANY = (BUDGET - 1) // LEAST
"""How many small gradients the budget allows to read beside the loss."""


def stepped(layers: int) -> tuple[nn.Module, torch.Tensor]:
    """A model with so many parameters, all with a gradient, and its loss."""
    model = nn.Sequential(*(nn.Linear(2, 2, bias=False) for _ in range(layers)))
    model(torch.ones(1, 2)).sum().backward()
    return model, model(torch.ones(1, 2)).sum()


def test_each_gradient_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counted(own: torch.Tensor, zeros: bool = True) -> statistics.Statistics | None:
        read.append(own.data_ptr())
        return statistics.statistics_of(own, zeros)

    for module in (values, gradients):
        monkeypatch.setattr(module, "statistics_of", counted)
    model, loss = stepped(5)
    gradviz.audit(loss, model)
    grads = [one.grad for one in model.parameters() if one.grad is not None]
    assert sorted(read) == sorted(grad.data_ptr() for grad in grads)
    assert len(grads) == 5


def test_beyond_the_budget_a_gradient_is_said_to_be_unread() -> None:
    model, loss = stepped(MANY + 2)
    loss.backward()
    report = gradviz.audit(loss, model, torch.optim.SGD(model.parameters(), lr=0.1))
    unread = [row.name for row in report.findings.parameters if row.grad.is_unread]
    assert len(unread) == 2
    assert all(report[name].grad.norm is None for name in unread)
    assert all(report[name].grad.zeros is None for name in unread)
    assert {report[name].update for name in unread} == {".grad, which is not read"}
    assert [report[name].updated for name in unread] == [None, None]
    said = [str(one) for one in report.findings.sentences if "is not read" in str(one)]
    assert said == [f"{unread[0]} and {unread[1]}: .grad is not read: values=True reads it."]


def test_values_true_reads_all_and_values_false_none() -> None:
    model, loss = stepped(MANY + 2)
    whole = gradviz.audit(loss, model, values=True)
    assert not any(row.grad.is_unread for row in whole.findings.parameters)
    assert all(row.grad.norm is not None for row in whole.findings.parameters)
    none = gradviz.audit(loss, model, values=False)
    assert all(row.grad.is_unread for row in none.findings.parameters)
    assert none.graph is not None
    assert all(info.grad.norm is None for info in none.graph.tensors if info.grad is not None)
