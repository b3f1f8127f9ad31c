from __future__ import annotations

import pytest
import torch

import gradviz
from gradviz.model import ValueSummary
from tests.each import each


def grad_of(grad: torch.Tensor) -> ValueSummary:
    leaf = torch.ones_like(grad, requires_grad=True)
    leaf.grad = grad
    found = gradviz.snapshot(leaf * 1).leaves[0].grad
    assert found is not None
    return found


def test_up_to_eight_values_are_kept() -> None:
    assert grad_of(torch.arange(8.0)).values == tuple(map(float, range(8)))
    assert grad_of(torch.arange(9.0)).values is None


def test_statistics_are_those_of_torch() -> None:
    found = grad_of(torch.tensor([1.0, 2.0, -3.0]))
    assert (found.min, found.mean, found.max, found.norm) == (-3.0, 0.0, 2.0, 3.74166)
    assert (found.has_nan, found.has_inf) == (False, False)


def test_large_numbers_do_not_overflow() -> None:
    found = grad_of(torch.full((20,), 3e38))
    assert found.mean == pytest.approx(3e38)
    assert found.norm == pytest.approx(3e38 * 20**0.5, rel=1e-5)
    assert found.has_inf is False


@each("dtype", [torch.float32, torch.bfloat16, torch.complex64])
def test_nan_and_inf_are_found(dtype: torch.dtype) -> None:
    found = grad_of(torch.tensor([float("nan"), float("inf"), 1.0], dtype=dtype))
    assert (found.has_nan, found.has_inf) == (True, True)
    assert found.values is not None
    assert "nan" in str(found.values[0])


def test_an_empty_gradient_has_no_statistics() -> None:
    assert grad_of(torch.ones(0)).mean is None


def test_large_integers_on_ctx_are_left_as_they_are() -> None:
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            ctx.seed, ctx.huge = 2**63 + 5, 10**5000
            return x * 2

        @staticmethod
        def backward(ctx, grad):  # type: ignore[no-untyped-def]
            return grad

    y = Keeps.apply(torch.ones(1, requires_grad=True))  # type: ignore[no-untyped-call]
    kept = dict(gradviz.snapshot(y)["n0"].attributes)
    assert kept == {"seed": 2**63 + 5, "huge": "int of 16610 bits"}
