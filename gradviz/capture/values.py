"""Numbers of a tensor: up to 8 values, and min, mean, max, norm, nan and inf."""

from __future__ import annotations

from itertools import chain
from math import isfinite
from typing import Any, Final

import torch

from gradviz.capture import autograd
from gradviz.capture.statistics import (
    is_readable,
    readable,
    statistics_of,
    unless_out_of_memory,
)
from gradviz.model import ValueSummary
from gradviz.model.records import Number

MOST_VALUES: Final = 8


@unless_out_of_memory
def few_values(tensor: torch.Tensor) -> tuple[Number, ...] | None:
    """All values when there are at most 8 and reading them is harmless, else ``None``.

    To be called within ``autograd.arithmetic()``.
    """
    if tensor.numel() > MOST_VALUES or not is_readable(tensor):
        return None
    return _values(tensor)


def summarise(tensor: torch.Tensor, values: bool = True) -> ValueSummary:
    """Summary of a tensor; what cannot be read safely, or was not requested, is ``None``.

    Statistics are rounded to six significant digits, so that they agree between devices. To be
    called within ``autograd.arithmetic()``.
    """
    shape, dtype = autograd.shape_of(tensor), autograd.dtype_of(tensor)
    own = readable(tensor) if values else None
    found = statistics_of(own) if own is not None and own.numel() else None
    if own is None or found is None:
        return ValueSummary(shape, dtype)
    return ValueSummary(
        shape,
        dtype,
        _values(own) if own.numel() <= MOST_VALUES else None,
        _rounded(found.minimum),
        _rounded(found.mean),
        _rounded(found.maximum),
        _rounded(found.norm),
        found.nan > 0,
        found.inf > 0,
    )


def _values(tensor: torch.Tensor) -> tuple[Number, ...]:
    """The numbers of few, in row-major order.

    Nodes can save thousands of such tensors, so no tensor is made on the way.
    """
    found: Any = tensor.tolist()
    if type(found) is not list:
        return (autograd.as_number(found),)
    while found and type(found[0]) is list:
        found = list(chain.from_iterable(found))
    numbers = tuple(found)
    if not tensor.is_complex() and all(map(isfinite, numbers)):
        return numbers
    return tuple([autograd.as_number(value) for value in numbers])


def _rounded(value: float) -> Number:
    return autograd.as_number(float(f"{value:.6g}"))
