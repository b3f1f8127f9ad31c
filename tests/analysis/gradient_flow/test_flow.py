"""A gradient-flow report against what torch has computed."""

from __future__ import annotations

import math
from functools import cache

import pytest
import torch
from torch import nn

import gradviz
from gradviz.model.gradient_flow import GradientFlow
from tests.analysis.gradient_flow.programs import Net, trained


@cache
def flow() -> tuple[GradientFlow, list[dict[str, float | None]]]:
    recording, net, norms = trained()
    found: GradientFlow = gradviz.gradient_flow(recording, net).findings
    return found, norms


def test_the_norms_are_those_of_each_backward() -> None:
    found, norms = flow()
    assert [row.name for row in found.parameters] == [name for name, _ in Net().named_parameters()]
    for row in found.parameters:
        for place, truth in enumerate(norms):
            norm, expected = row.norms[place], truth[row.name]
            assert row.given[place] is (expected is not None)
            if expected is None:
                assert norm is None
            else:
                assert norm is not None
                assert math.isfinite(norm) is math.isfinite(expected)
                if math.isfinite(expected):
                    assert norm == pytest.approx(expected, rel=1e-4)


def test_what_moved_is_what_the_optimizer_wrote() -> None:
    found, _ = flow()
    moved = {row.name: (row.moved, row.updates, row.still) for row in found.parameters}
    assert moved["head.weight"] == (True, 3, "")
    assert moved["blocks.0.bias"] == (False, 0, "no optimizer that stepped has it")
    assert moved["spare.bias"] == (False, 0, "no optimizer step found a .grad")


def test_a_step_that_the_scaler_skipped_is_known() -> None:
    found, _ = flow()
    assert [one.is_skipped for one in found.backwards] == [False, False, True, False]
    assert [one.step.partition(" ")[0] for one in found.backwards] == [
        "SGD.step",
        "SGD.step",
        "skipped",
        "SGD.step",
    ]


def test_a_scaler_by_any_name_that_skipped_all_steps_is_known() -> None:
    net = nn.Linear(2, 1)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    amp = torch.amp.GradScaler("cpu", init_scale=2.0**127)
    with gradviz.record() as recording:
        for _ in range(2):
            loss = net(torch.ones(2, 2)).pow(2).mean() * 10
            amp.scale(loss).backward()
            amp.step(sgd)
            amp.update()
    found: GradientFlow = gradviz.gradient_flow(recording, net).findings
    assert [one.is_skipped for one in found.backwards] == [True, True]
    assert any("2 steps of 2 skipped" in one for one in found.sentences)


def test_a_relu_that_is_shut_is_named() -> None:
    found, _ = flow()
    (relu,) = found.relus
    assert relu.at is not None
    assert "torch.relu(self.gate(x))" in relu.at.text
    assert (relu.backwards, relu.total) == ((1, 2, 4), 3)  # what it got in 3 is nan


def test_the_sentences_state_what_was_found() -> None:
    found, _ = flow()
    said = " ".join(found.sentences)
    for words in (
        "Backward 3 (line ",
        "is the first that gave nan or inf",
        "1 step of 4 skipped",
        "gate.weight and gate.bias: every gradient is all zeros.",
        "passed no gradient on in 3 of 3 backwards",
        "No backward gave spare.weight and spare.bias a gradient",
        "never moved: no optimizer that stepped has it.",
    ):
        assert words in said


def test_the_answer_says_what_is_worst() -> None:
    found, _ = flow()
    assert found.title.startswith("8 of 12 parameters got a gradient with nan or inf, first in")
    assert "backward 3 (line " in found.title
    w, unused = (torch.ones(2, requires_grad=True) for _ in range(2))

    def title(factor: float, *stepped: torch.Tensor) -> str:
        sgd = torch.optim.SGD([w, *stepped], lr=0.1)
        with gradviz.record() as recording:
            (w * factor).sum().backward()
            sgd.step()
        found: GradientFlow = gradviz.gradient_flow(recording).findings
        assert set(found.notes) <= set(found.sentences)
        return found.title

    assert title(1.0) == "The one parameter got a gradient in 1 backward"
    assert title(1.0, unused) == "1 of 2 parameters got no gradient in 1 backward"
    assert title(0.0) == "1 of 1 parameter got only zeros as gradient in 1 backward"


def test_that_a_parameter_without_a_gradient_never_moved_is_a_note() -> None:
    w, unused = (torch.ones(2, requires_grad=True) for _ in range(2))
    sgd = torch.optim.SGD([w, unused], lr=0.1)
    with gradviz.record() as recording:
        w.sum().backward()
        sgd.step()
    found = gradviz.gradient_flow(recording).findings
    assert found.notes == ("unused never moved: no optimizer step found a .grad.",)


def test_a_plain_run_has_nothing_to_say() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    with gradviz.record() as recording:
        for _ in range(3):
            for _ in range(2):
                loss = model(torch.randn(4, 3)).pow(2).mean()
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            schedule.step(loss.item())
    found = gradviz.gradient_flow(recording).findings
    assert found.sentences == ()
    assert found.title == "All 4 parameters got a gradient in 6 backwards"
    assert [bool(one.step) for one in found.backwards] == [False, True] * 3


def test_norms_far_apart_or_grown_are_stated_with_the_threshold() -> None:
    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    with gradviz.record() as recording:
        for scale in (1.0, 1e4):
            (scale * (a.sum() + 1e-7 * b.sum())).backward()
    said = " ".join(gradviz.gradient_flow(recording).findings.sentences)
    assert "more than 1,000,000 times as much; so in 1 more." in said
    assert "in backward 2 (line " in said
    assert "more than 1,000 times that of backward 1" in said


def test_norms_that_were_not_recorded_are_said_to_be_so() -> None:
    recording, net, _ = trained(values=False, broken=None)
    found = gradviz.gradient_flow(recording, net).findings
    assert found["head.weight"].norms == (None,) * 4
    assert found["head.weight"].given == (True,) * 4
    assert "not recorded: gradviz.record(values=True) reads them all." in found.sentences[-1]
    assert found.relus == ()
    assert "?" in gradviz.gradient_flow(recording, net)._still


def test_of_a_long_recording_only_backwards_with_their_steps_are_listed() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.record(budget=100) as recording:
        for turn in range(40):
            (turn * w).sum().backward()
    found = gradviz.gradient_flow(recording).findings
    numbers = [one.number for one in found.backwards]
    assert numbers == sorted(numbers)
    assert len(numbers) < 40
    for place, number in enumerate(numbers):
        assert found["w"].norms[place] == pytest.approx((number - 1) * 2**0.5)
    assert "longer than its budget" in found.sentences[-1]
    assert "all zeros" not in " ".join(found.sentences)  # the first is


def test_without_a_backward_it_says_what_to_record() -> None:
    with gradviz.record() as recording:
        torch.ones(2, requires_grad=True).sum()
    report = gradviz.gradient_flow(recording)
    assert report.findings.title == "The recording has no backward"
    assert not report._drawn_figures


def test_a_name_that_no_parameter_has_lists_the_names() -> None:
    found, _ = flow()
    assert found["head.bias"] is found.parameters[-3]
    with pytest.raises(gradviz.UnknownNodeError, match=r"blocks\.0\.weight"):
        found["nothing"]
