"""Why a result is inf: what is said of finite numbers, and of those that a recording lacks."""

from __future__ import annotations

from typing import Final

import pytest

from tests.analysis.explain.silent_running import run_recorded

_LARGE: Final = "the result is larger than its dtype can hold, so it is inf"
_OR_GIVEN: Final = (
    "the result is larger than its dtype can hold, or one of the numbers that it is computed from "
    "is inf"
)
_BY_ZERO: Final = "a number divided by 0 is inf, and 0 / 0 is nan"


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("w * z * z", _LARGE),
        ("w + z * 9 + z * 9", _LARGE),
        ("w * 1e30 * 1e30", _LARGE),
        ('w * float("inf")', _OR_GIVEN),
        ("w + infinite", _OR_GIVEN),
        ("(w * 100).exp()", _LARGE),
        ("w / 1e-38 / 1e-38", _LARGE),
        ("w / 0.0", _BY_ZERO),
        ("w / zero", _BY_ZERO),
        ("w / z", _BY_ZERO),
    ],
)
def test_a_number_that_is_no_tensor_is_not_taken_to_be_finite(expression: str, why: str) -> None:
    before = """
w = torch.tensor([1.0, 2.0], requires_grad=True)
z = torch.tensor([0.0, 3e37])
infinite, zero = float("inf"), 0.0
"""
    text = f"out = {expression}\nloss = out.sum()\nloss.backward()"
    recording = run_recorded(text, before)
    found = next(one for one in recording.explanations if one.kind == "first nan or inf")
    assert str(found.why) == why
