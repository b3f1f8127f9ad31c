"""Numbers of a tensor: up to 8 values, and min, mean, max, norm, nan and inf."""

from __future__ import annotations

from typing import Final

import torch

from gradviz.capture import autograd
from gradviz.model import ValueSummary
from gradviz.model.records import Number

MOST_VALUES: Final = 8


def few_values(tensor: torch.Tensor) -> tuple[Number, ...] | None:
    """All values when there are at most 8 and reading them is harmless, else ``None``.

    To be called within ``autograd.arithmetic()``.
    """
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.numel() > MOST_VALUES:
        return None
    if not autograd.is_plain(tensor) or not autograd.may_copy_to_host(tensor):
        return None
    return tuple([autograd.as_number(v) for v in tensor.detach().reshape(-1).tolist()])


def summarise(tensor: torch.Tensor, values: bool = True) -> ValueSummary:
    """Summary of a tensor; what cannot be read safely, or was not requested, is ``None``.

    Statistics are rounded to six significant digits, so that they agree between devices. To be
    called within ``autograd.arithmetic()``.
    """
    shape, dtype = autograd.shape_of(tensor), autograd.dtype_of(tensor)
    if not values or not autograd.is_plain(tensor):
        return ValueSummary(shape, dtype)
    if not autograd.may_copy_to_host(tensor) or not tensor.numel():
        return ValueSummary(shape, dtype)
    # In double precision, so that a mean or a norm of large numbers does not overflow.
    wide = torch.float32 if tensor.device.type == "mps" else torch.float64
    own = tensor.detach()
    numbers = own.to(torch.complex128).abs() if own.is_complex() else own.to(wide)
    seen = own if own.is_complex() else numbers
    low, high = torch.aminmax(numbers)
    statistics = torch.stack([low, numbers.mean(), high, torch.linalg.vector_norm(numbers)])
    minimum, mean, maximum, norm = (_rounded(v) for v in statistics.tolist())
    return ValueSummary(
        shape,
        dtype,
        few_values(tensor),
        minimum,
        mean,
        maximum,
        norm,
        bool(seen.isnan().any()),
        bool(seen.isinf().any()),
    )


def _rounded(value: float) -> Number:
    return autograd.as_number(float(f"{value:.6g}"))
