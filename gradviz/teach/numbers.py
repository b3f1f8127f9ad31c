"""The numbers that an exploration shows: the result, and beside each input its gradient."""

from __future__ import annotations

from typing import Final

from gradviz.teach.controls import Control, Leaf
from gradviz.teach.function_run import Outcome
from gradviz.view import formatting
from gradviz.view.text import clean, shorten

UNKNOWN: Final = "?"
"""A number that the last run did not come to."""
RESULT: Final = 20
"""Characters of a result."""
GRADIENT: Final = 24
"""Characters of a gradient beside its input."""
NAME: Final = 16
"""Characters of the name of a result beside an input."""


def results_of(outcome: Outcome) -> list[tuple[str, str]]:
    """Name and value of each result."""
    results = outcome.results
    return [(clean(name), formatting.gradient_words(one, RESULT)) for name, one in results]


def gradient_of(control: Control, outcome: Outcome) -> dict[str, str] | None:
    """What the browser shows of the gradient of an input; ``None`` if it is no tensor that can
    have one.

    Args:
        control: The input.
        outcome: The result of the last run.
    """
    if not isinstance(control, Leaf) or not control.can_require_grad:
        return None
    name = clean(control.name)
    if not control.requires_grad:
        return _gradient("no gradient", "", "requires_grad is off: operations are not recorded")
    if outcome.error or outcome.graph is None:
        return _gradient(f"{name}.grad", UNKNOWN, "not known: the last run raised an error")
    grad = next((one.grad for one in outcome.graph.tensors if one.name == control.name), None)
    if grad is None:
        return _gradient(f"{name}.grad", "None", "no gradient has arrived at it")
    value = formatting.gradient_words(grad, GRADIENT)
    if outcome.is_derivative and len(outcome.results) == 1:
        result = shorten(clean(outcome.results[0][0]), NAME)
        tip = f"derivative of {result} with respect to {name}, which backward put into {name}.grad"
        return _gradient(f"∂{result}/∂{name}", value, tip)
    return _gradient(f"{name}.grad", value, "what backward has added up in it")


def _gradient(label: str, value: str, tip: str) -> dict[str, str]:
    return {"label": label, "value": value, "tip": tip}
