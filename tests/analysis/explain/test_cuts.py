"""What is named where backward starts from a tensor without a graph, in a few lines."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import gradviz


def test_recording_that_was_off_before_is_said_with_what_to_type() -> None:
    w = torch.ones(2, requires_grad=True)
    with torch.no_grad(), gradviz.expect_error() as found:
        loss = w.exp().sum()
        loss.backward()
    assert [cause.kind for cause in found.causes] == ["cut"]
    assert "exp() ran on w under no_grad" in found.causes[0].what
    assert any("off before this recording" in one and "%gradviz on" in one for one in found.unknown)


def test_data_is_not_among_what_should_require_grad_where_there_are_parameters() -> None:
    model, x = nn.Linear(2, 1).requires_grad_(False), torch.ones(3, 2)
    with gradviz.expect_error() as found:
        loss = model(x).sum()
        loss.backward()
    assert found.variables == ("loss", "model.weight", "model.bias")
    assert any("%gradviz on" in one for one in found.unknown)


def test_a_checkpoint_that_reads_nothing_it_should_is_not_blamed_for_a_block_around_it() -> None:
    model, x = nn.Linear(2, 1), torch.ones(3, 2, requires_grad=True)
    with gradviz.expect_error() as found:
        with torch.no_grad():
            h = checkpoint(model, x, use_reentrant=True)
        h.sum().backward()
    assert found.cause is not None
    assert found.cause.at is not None
    assert found.cause.at.text == "with torch.no_grad():"


def test_no_line_is_to_be_recorded_where_a_frozen_model_may_be_the_mistake() -> None:
    teacher, model = nn.Linear(3, 4), nn.Linear(3, 4).requires_grad_(False)
    x = torch.ones(6, 3)
    with gradviz.expect_error() as found:
        with torch.no_grad():
            target = teacher(x)
            target = target / 2
        loss = (model(x) - target).pow(2).mean()
        loss.backward()
    assert found.kind == "no graph"
    assert found.fixes == ()


def test_a_number_is_not_blamed_where_a_frozen_model_may_be_the_mistake() -> None:
    model, x = nn.Linear(3, 4).requires_grad_(False), torch.ones(6, 3)
    weight = torch.ones(1, requires_grad=True)
    with gradviz.expect_error() as found:
        loss = model(x).pow(2).mean() * weight.item()
        loss.backward()
    assert found.kind == "no graph"
    assert (found.causes, found.fixes) == ((), ())
