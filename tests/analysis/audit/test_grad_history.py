"""What an audit says after backward: a ``.grad`` does not tell what it is from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gradviz
from gradviz.model.audit import Audit
from tests.each import each

X = torch.ones(3, 2)
UNKNOWN = "is from this loss alone is not known"


def loss_of(model: nn.Module) -> Tensor:
    out: Tensor = model(X).exp().sum()
    return out


def grad_instead(model: nn.Module) -> Tensor:
    model(X).pow(2).sum().backward()
    loss = loss_of(model)
    torch.autograd.grad(loss, list(model.parameters()))
    return loss


def cleared_and_filled_by_another(model: nn.Module) -> Tensor:
    loss = loss_of(model)
    loss.backward()
    model.zero_grad()
    model(X).sum().backward()
    return loss


def filled_with_zeros(model: nn.Module) -> Tensor:
    loss = loss_of(model)
    loss.backward()
    model.zero_grad(set_to_none=False)
    return loss


def added_to_another(model: nn.Module) -> Tensor:
    model(X).sum().backward()
    loss = loss_of(model)
    loss.backward()
    return loss


def filled_once(model: nn.Module) -> Tensor:
    loss = loss_of(model)
    loss.backward()
    return loss


def filled_twice(model: nn.Module) -> Tensor:
    loss = loss_of(model)
    loss.backward(retain_graph=True)
    loss.backward()
    return loss


def filled_after_zeros(model: nn.Module) -> Tensor:
    model(X).sum().backward()
    model.zero_grad(set_to_none=False)
    loss = loss_of(model)
    loss.backward()
    return loss


PROGRAMS: dict[Callable[[nn.Module], Tensor], bool | None] = {
    grad_instead: True,
    cleared_and_filled_by_another: True,
    filled_with_zeros: None,
    added_to_another: None,
    filled_once: False,
    filled_twice: False,
    filled_after_zeros: False,
}
"""Programs after which the graph of the loss is freed and each ``.grad`` is there; and what a
recording tells: whether it is stale."""


@each("run", PROGRAMS)
def test_alone_a_grad_does_not_tell_from_which_loss_it_is(run: Any) -> None:
    model = nn.Linear(2, 2)
    audit: Audit = gradviz.audit(run(model), model).findings
    assert audit.state == "freed"
    assert audit.title == "The graph of loss reaches all 2 parameters; all have a .grad"
    assert [(row.reached, row.stale) for row in audit] == [(True, None)] * 2
    assert any(UNKNOWN in text for text in audit.sentences)
    assert " got " not in str(audit)


@each("run", PROGRAMS)
def test_a_recording_that_saw_it_filled_tells(run: Any) -> None:
    model = nn.Linear(2, 2)
    with gradviz.record(into=run) as recording:
        loss = run(model)
    audit: Audit = gradviz.audit(loss, model, recording=recording).findings
    assert [row.stale for row in audit] == [PROGRAMS[run]] * 2, str(audit)
    if PROGRAMS[run] is False:
        assert audit.title == "All 2 parameters got a gradient from loss"
    if run is added_to_another:
        assert "weight and bias: .grad is the sum" in str(audit)


def mean_first(model: nn.Module) -> torch.Tensor:
    loss = (model(X) - 1.0) ** 2
    loss.mean().backward()
    return loss


def with_another_term(model: nn.Module) -> torch.Tensor:
    loss = (model(X) - 1.0) ** 2
    (loss.mean() + model.weight.sum() + model.bias.sum()).backward()  # type: ignore[operator]
    return loss


@pytest.mark.parametrize(("run", "stale"), [(mean_first, False), (with_another_term, None)])
def test_a_loss_that_is_reduced_before_backward_has_filled_it(run: Any, stale: bool | None) -> None:
    model = nn.Linear(2, 2)
    with gradviz.record(into=run) as recording:
        loss = run(model)
    audit: Audit = gradviz.audit(loss, model, recording=recording).findings
    assert [row.stale for row in audit] == [stale] * 2, str(audit)


def test_a_grad_that_has_changed_since_the_recording_is_not_known() -> None:
    model = nn.Linear(2, 2)
    with gradviz.record() as recording:
        loss = loss_of(model)
        loss.backward()
    model(X).sum().backward()
    audit: Audit = gradviz.audit(loss, model, recording=recording).findings
    assert [row.stale for row in audit] == [None, None]
    assert any(UNKNOWN in text for text in audit.sentences)


def test_a_loss_that_has_lost_its_graph_may_have_filled_what_is_there() -> None:
    model = nn.Linear(2, 2)
    loss = loss_of(model)
    loss.backward()
    loss.detach_()
    assert [row.stale for row in gradviz.audit(loss, model).findings] == [None, None]


def test_a_graph_that_was_kept_may_have_filled_what_is_there() -> None:
    model = nn.Linear(2, 2)
    loss = loss_of(model)
    loss.backward(retain_graph=True)
    assert [row.stale for row in gradviz.audit(loss, model).findings] == [None, None]


def test_a_parameter_that_the_graph_does_not_lead_to_has_a_stale_grad() -> None:
    model, other = nn.Linear(2, 2), nn.Linear(2, 2)
    (model(X).sum() + other(X).sum()).backward()
    loss = loss_of(model)
    loss.backward()
    audit: Audit = gradviz.audit(loss, {"model": model, "other": other}).findings
    assert (audit["model.weight"].stale, audit["other.weight"].stale) == (None, True)


def test_why_there_is_no_grad_is_told_by_a_recording() -> None:
    model = nn.Linear(2, 2)
    with gradviz.record() as recording:
        loss = loss_of(model)
        grads = torch.autograd.grad(loss, list(model.parameters()))
    assert len(grads) == 2
    audit: Audit = gradviz.audit(loss, model, recording=recording).findings
    assert audit.title == "The graph of loss reaches all 2 parameters; none has a .grad"
    assert audit["weight"].why.startswith("autograd.grad() in line ")
    assert audit["weight"].why.endswith(" returns gradients and fills no .grad")
    with gradviz.record() as recording:
        loss = loss_of(model)
        loss.backward(inputs=[model.weight])
    audit = gradviz.audit(loss, model, recording=recording).findings
    assert (audit["weight"].stale, audit["bias"].gets_gradient) == (False, None)
    assert audit["bias"].why.startswith("backward(inputs=...) in line ")
    with gradviz.record() as recording:
        loss = loss_of(model)
        loss.backward()
        model.zero_grad()
    audit = gradviz.audit(loss, model, recording=recording).findings
    assert audit["weight"].gets_gradient is True
    assert "no .grad now: zero_grad() in line " in str(audit)
    with gradviz.record() as recording:
        loss = loss_of(model)
        loss.backward(retain_graph=True)
        model.zero_grad()
        torch.autograd.grad(loss, list(model.parameters()))
    audit = gradviz.audit(loss, model, recording=recording).findings
    assert "no .grad now: autograd.grad() in line " in str(audit)


def test_where_the_recording_does_not_know_it_no_recording_is_asked_for() -> None:
    model = nn.Linear(2, 1)
    with gradviz.record() as recording:
        loss = model(torch.ones(3, 2)).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    told = {
        is_recorded: " ".join(
            gradviz.audit(
                loss, model, recording=recording if is_recorded else None
            ).findings.sentences
        )
        for is_recorded in (True, False)
    }
    assert "is not known from the recording." in told[True]
    assert "pass recording=" not in told[True]
    assert "pass recording=" in told[False]
