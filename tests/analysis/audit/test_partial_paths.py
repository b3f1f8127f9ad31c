"""What an audit says of a part of the way that passes no gradient."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn

import gradviz
from gradviz.model.audit import ParameterAudit
from tests.each import each


def first(report: Any) -> ParameterAudit:
    found = report.findings
    row = found.parameters[0]
    assert isinstance(row, ParameterAudit)
    for cut in row.partly:
        assert f"{row.name}: {cut.why}." in found.all_sentences
    return row


@pytest.mark.filterwarnings("ignore:Converting a tensor")
def test_a_value_that_left_torch_and_came_back_is_a_part_that_is_cut() -> None:
    p = torch.tensor(4.0, requires_grad=True)
    with gradviz.record() as recording:
        loss = torch.tensor(math.sqrt(p)) + p
        loss.backward()
    row = first(gradviz.audit(loss, {"p": p}, recording=recording))
    (cut,) = row.partly
    assert row.gets_gradient
    assert cut.at is not None
    assert (cut.call, cut.at.text) == ("float()", "loss = torch.tensor(math.sqrt(p)) + p")
    assert cut.why.startswith("part of the way to loss is cut: float() in line")


@each("how", ["detach", "data", "no_grad", "grad"])
def test_what_may_be_meant_is_stated_without_a_verdict(how: str) -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with gradviz.record() as recording:
        if how == "detach":
            part = (w * 2).detach()
        elif how == "data":
            part = w.data
        elif how == "no_grad":
            with torch.no_grad():
                part = w * 2
        else:
            (part,) = torch.autograd.grad((w**2).sum(), w)
        loss = (w * part).sum()
        loss.backward()
    (cut,) = first(gradviz.audit(loss, {"w": w}, recording=recording)).partly
    assert "leads through" in cut.why
    assert cut.why.endswith("which passes no gradient")
    assert [one.kind for one in recording.explanations] == []


def test_a_function_whose_lines_are_not_known_may_pass_a_value_on() -> None:
    def half(value: float) -> float:
        return value / 2

    p = torch.tensor(4.0, requires_grad=True)
    with gradviz.record() as recording:
        loss = p * half(p.item())
        loss.backward()
    (cut,) = first(gradviz.audit(loss, {"p": p}, recording=recording)).partly
    assert "part of the way to loss may be cut" in cut.why
    assert [one.kind for one in recording.explanations] == []


def test_a_running_mean_in_an_attribute_is_stated_without_a_verdict() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))
            self.mean = 0.0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = x * self.w
            self.mean = 0.9 * self.mean + 0.1 * h.mean().item()
            return h - self.mean

    net = Net()
    with gradviz.record() as recording:
        loss = net(torch.ones(3)).pow(2).sum()
        loss.backward()
    (cut,) = first(gradviz.audit(loss, {"w": net.w}, recording=recording)).partly
    assert "leads through item()" in cut.why
    assert [one.kind for one in recording.explanations] == []


def test_what_was_cut_off_before_a_step_is_no_part_of_the_way() -> None:
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with gradviz.record() as recording:
        target = (w * 2).detach()
        w.sum().backward()
        optimizer.step()
        loss = (w * 3 - target).pow(2).sum()
        loss.backward()
    assert first(gradviz.audit(loss, {"w": w}, recording=recording)).partly == ()


def test_what_a_write_between_two_steps_made_is_no_part_of_the_way() -> None:
    model, target = nn.Linear(2, 1), nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradviz.record() as recording:
        for _ in range(3):
            optimizer.zero_grad()
            loss = (model(torch.ones(2)) - target(torch.ones(2))).pow(2).sum()
            loss.backward()
            optimizer.step()
            for old, new in zip(target.parameters(), model.parameters(), strict=True):
                old.data.mul_(0.9).add_(new.data * 0.1)
    assert first(gradviz.audit(loss, {"weight": model.weight}, recording=recording)).partly == ()
