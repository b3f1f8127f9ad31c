from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

import gradviz
from gradviz.capture.recorder.followed_code import FollowedCode


@dataclass(frozen=True)
class Scale:
    factor: float

    def apply(self, x: Tensor) -> Tensor:
        return x * self.factor


def test_of_a_dataclass_only_its_own_functions_are_followed() -> None:
    followed = FollowedCode(only=[Scale])
    assert followed.has(Scale.apply.__code__)
    shared = getattr(Scale, "__replace__", dataclasses.replace)
    assert not followed.has(shared.__code__)


def test_copying_a_dataclass_is_part_of_the_line_that_does_it() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.record(into=[Scale]) as recording:
        scale = dataclasses.replace(Scale(2.0), factor=3.0)
        out = scale.apply(w)
    texts = [step.code.text for step in recording.all_steps if step.code is not None]
    assert any("return x * self.factor" in text for text in texts)
    assert not any("def _replace" in text for text in texts)
    assert out.requires_grad
