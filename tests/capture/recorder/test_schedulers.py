from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler

import gradviz
from gradviz.model.events import SchedulerStepped


def stepped(recording: gradviz.Recording) -> list[tuple[str, bool]]:
    events = (event for step in recording.records for event in step.events)
    return [(e.name, e.has_stepped) for e in events if isinstance(e, SchedulerStepped)]


@pytest.mark.filterwarnings("ignore:Detected call of")
def test_a_step_of_a_scheduler_is_an_event_and_what_it_does_when_it_is_made_is_none() -> None:
    model = nn.Linear(2, 1)
    with gradviz.record() as recording:
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        scheduler = lr_scheduler.StepLR(opt, 1)
        scheduler.step()
        model(torch.ones(1, 2)).sum().backward()
        opt.step()
        scheduler.step()
    assert stepped(recording) == [("StepLR", False), ("StepLR", True)]


def test_a_scheduler_of_schedulers_steps_once() -> None:
    model = nn.Linear(2, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    parts = [lr_scheduler.ConstantLR(opt), lr_scheduler.ExponentialLR(opt, 0.9)]
    scheduler = lr_scheduler.ChainedScheduler(parts, optimizer=opt)
    plateau = lr_scheduler.ReduceLROnPlateau(opt)
    with gradviz.record() as recording:
        model(torch.ones(1, 2)).sum().backward()
        opt.step()
        scheduler.step()
        plateau.step(1.0)
    assert stepped(recording) == [("ChainedScheduler", True), ("ReduceLROnPlateau", True)]
    assert gradviz.Recording.from_json(recording.to_json()) == recording
