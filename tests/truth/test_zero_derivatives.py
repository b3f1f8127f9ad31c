"""Which derivatives are 0 whatever the values are, compared with torch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

import gradviz
from gradviz.model.derivatives.zero import is_zero_everywhere
from tests.each import each

Function = Callable[[Tensor], Tensor]
ZERO: dict[str, Function] = {
    "round": torch.round,
    "round to a decimal": lambda x: torch.round(x, decimals=1),
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "sign": torch.sign,
    "sgn": torch.sgn,
    "round in place": lambda x: x.mul(3).round_(),
    "comparison in place": lambda x: x.mul(3).gt_(1),
    "floor division": lambda x: torch.div(x, 0.3, rounding_mode="floor"),
    "by a divisor": lambda x: torch.div(2.0, x, rounding_mode="trunc"),
    "bernoulli": torch.bernoulli,
    "poisson": torch.poisson,
    "normal, mean": lambda x: torch.normal(x, 1.0),
    "normal, both": lambda x: torch.normal(x, x),
    "norm 0": lambda x: torch.norm(x, p=0),
    "vector norm 0": lambda x: torch.linalg.vector_norm(x, ord=0),
}
OTHERS: dict[str, Function] = {
    "relu of what is negative": lambda x: torch.relu(x - 9),
    "times 0": lambda x: x * 0,
    "clamp": lambda x: x.clamp(2, 3),
    "frac": torch.frac,
    "remainder": lambda x: torch.remainder(x, 0.3),
    "division": lambda x: torch.div(x, 0.3),
    "norm 2": lambda x: torch.norm(x, p=2),
    "sign of complex numbers": lambda x: torch.sgn(torch.complex(x, x)),
    "filled in place": lambda x: x.mul(3).fill_(2.0),
    "zeroed in place": lambda x: x.mul(3).zero_(),
    "drawn in place": lambda x: x.mul(3).uniform_(),
    "normal in place": lambda x: x.mul(3).normal_(),
}


def found_for(function: Function) -> tuple[bool, Tensor | None]:
    """What is said of the last node, and the gradient that torch gives."""
    x = torch.tensor([0.21, 0.43, 0.77], requires_grad=True)
    out = function(x)
    graph = gradviz.snapshot(out)
    node = graph[graph.roots[0][0]]
    (gradient,) = torch.autograd.grad(out, x, torch.ones_like(out), allow_unused=True)
    said = [
        is_zero_everywhere(node, slot, str(out.dtype).removeprefix("torch."))
        for slot, entry in enumerate(node.next_functions)
        if entry is not None
    ]
    return all(said), gradient


@each("name", ZERO)
def test_what_is_said_to_be_0_is_0_or_none(name: str) -> None:
    is_zero, gradient = found_for(ZERO[name])
    assert is_zero
    assert gradient is None or not gradient.any()


@each("name", OTHERS)
def test_what_depends_on_values_or_is_overwritten_is_not_said_to_be_0(name: str) -> None:
    is_zero, _ = found_for(OTHERS[name])
    assert not is_zero
