"""Why a result is inf: what is said of finite numbers, and of those that a recording lacks."""

from __future__ import annotations

from typing import Final

from tests.analysis.explain.silent_running import run_recorded

_LARGE: Final = "the result is larger than its dtype can hold, so it is inf"
_OR_GIVEN: Final = (
    "the result is larger than its dtype can hold, or one of the numbers that it is computed from "
    "is inf"
)
_BY_ZERO: Final = "a number divided by 0 is inf, and 0 / 0 is nan"


REASONS: Final = {
    "w * z * z": _LARGE,
    "w + z * 9 + z * 9": _LARGE,
    "w * 1e30 * 1e30": _LARGE,
    'w * float("inf")': _OR_GIVEN,
    "w + infinite": _OR_GIVEN,
    "(w * 100).exp()": _LARGE,
    "w / 1e-38 / 1e-38": _LARGE,
    "w / 0.0": _BY_ZERO,
    "w / zero": _BY_ZERO,
    "w / z": _BY_ZERO,
}
BEFORE: Final = """
w = torch.tensor([1.0, 2.0], requires_grad=True)
z = torch.tensor([0.0, 3e37])
infinite, zero = float("inf"), 0.0
"""


def test_a_number_that_is_no_tensor_is_not_taken_to_be_finite() -> None:
    said = {}
    for expression in REASONS:
        text = f"out = {expression}\nloss = out.sum()\nloss.backward()"
        found = run_recorded(text, BEFORE).explanations
        said[expression] = [str(one.why) for one in found if one.kind == "first nan or inf"][:1]
    assert said == {expression: [why] for expression, why in REASONS.items()}
