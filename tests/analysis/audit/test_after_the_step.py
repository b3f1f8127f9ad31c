"""An audit after the last step: gradients that were used and cleared, and closures."""

from __future__ import annotations

import torch
from torch import nn

import gradviz
from gradviz.model.audit import Audit


def _model() -> tuple[nn.Linear, torch.Tensor]:
    torch.manual_seed(0)
    return nn.Linear(3, 1), torch.randn(4, 3)


def test_a_parameter_that_a_recorded_step_updated_is_updated_though_its_grad_is_cleared() -> None:
    model, x = _model()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradviz.record() as recording:
        for _ in range(2):
            for _ in range(2):
                loss = model(x).pow(2).mean() / 2
                loss.backward()
            opt.step()
            opt.zero_grad()
    found: Audit = gradviz.audit(loss, model, opt, recording=recording).findings
    assert [row.updated for row in found.parameters] == [True, True]
    assert all("cleared afterwards" in row.update for row in found.parameters)


def test_a_parameter_that_no_step_updated_before_its_grad_was_cleared_is_not_updated() -> None:
    model, x = _model()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradviz.record() as recording:
        loss = model(x).pow(2).mean()
        loss.backward()
        opt.zero_grad()
        opt.step()
    found: Audit = gradviz.audit(loss, model, opt, recording=recording).findings
    assert [row.updated for row in found.parameters] == [False, False]


def test_the_grad_of_a_closure_is_of_another_loss_and_not_stale() -> None:
    model, x = _model()
    opt = torch.optim.LBFGS(model.parameters(), lr=0.1)
    with gradviz.record() as recording:

        def closure() -> torch.Tensor:
            opt.zero_grad()
            error: torch.Tensor = model(x).pow(2).mean()
            error.backward()
            return error

        loss = opt.step(closure)
    found: Audit = gradviz.audit(loss, model, opt, recording=recording).findings
    assert [row.stale for row in found.parameters] == [None, None]
    assert all("from another loss of the closure" in " ".join(row.also) for row in found.parameters)
