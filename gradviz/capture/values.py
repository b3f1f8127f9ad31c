"""Numbers of a tensor: up to 8 values, and min, mean, max, norm, nan and inf."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from math import floor, inf, isfinite, log10
from typing import Any, Final, NamedTuple

import torch

from gradviz.capture import autograd
from gradviz.capture.statistics import (
    Statistics,
    is_readable,
    readable,
    statistics_of,
    unless_out_of_memory,
)
from gradviz.model import ValueSummary
from gradviz.model.arguments import checked
from gradviz.model.records import Number

MOST_VALUES: Final = 8
BUDGET: Final = 1 << 18
"""How many elements one look reads where nothing else is asked for."""
LEAST: Final = 1 << 12
"""How many elements a tensor counts as at least whose statistics are computed: the calls take as
long as the numbers of a small one."""


class Budget:
    """How many numbers may still be read, in the order in which tensors are visited.

    It counts elements and not seconds, so that the same program reads the same numbers anywhere.

    Args:
        values: ``True``: all; ``False``: none; ``None``: up to 262,144.

    Examples:
        >>> budget = Budget(None)
        >>> budget.allows(200_000), budget.allows(200_000), budget.allows(5)
        (True, False, True)
    """

    __slots__ = ("_left", "is_none")

    def __init__(self, values: bool | None) -> None:
        checked("values", values is not None and values, bool, "True, False or None: values=False")
        self.is_none = values is False
        """Whether nothing is read, because that was asked for."""
        self._left = float("inf") if values else BUDGET

    def allows(self, elements: int) -> bool:
        """Whether a tensor may be read; then its elements are counted."""
        if elements > self._left:
            return False
        self._left -= elements
        return True


class FewValues(NamedTuple):
    """The values of a tensor with few."""

    values: tuple[Number, ...] | None
    is_unread: bool = False
    """Whether there are few, and the budget did not allow to read them."""


NO_VALUES: Final = FewValues(None)
_UNREAD: Final = FewValues(None, True)


def few_values(tensor: torch.Tensor, budget: Budget) -> FewValues:
    """All values when there are at most 8 and reading them is harmless.

    To be called within ``autograd.arithmetic()``.
    """
    # Not by unless_out_of_memory: nodes can save thousands of such tensors.
    try:
        count = tensor.numel()
        if budget.is_none or count > MOST_VALUES or not is_readable(tensor):
            return NO_VALUES
        return FewValues(_values(tensor)) if budget.allows(count) else _UNREAD
    except RecursionError:
        raise
    except (MemoryError, RuntimeError):
        return NO_VALUES


def summarise_within(
    tensor: torch.Tensor, budget: Budget, zeros: bool = False
) -> tuple[ValueSummary, Statistics | None]:
    """The same as :func:`summarise`, as far as the budget allows, and what it is made from.

    Args:
        tensor: The tensor.
        budget: How much may be read.
        zeros: Whether zeros are counted too.
    """
    if budget.is_none:
        return summarise(tensor, False), None
    if not budget.allows(max(LEAST, _count(tensor) or 0)):
        shape, dtype = autograd.shape_of(tensor), autograd.dtype_of(tensor)
        return ValueSummary(shape, dtype, is_unread=True), None
    return _summarised(tensor, readable(tensor), zeros)


@unless_out_of_memory
def _count(tensor: torch.Tensor) -> int:
    return tensor.numel()


def summarise(tensor: torch.Tensor, values: bool = True) -> ValueSummary:
    """Summary of a tensor; what cannot be read safely, or was not requested, is ``None``.

    Statistics are rounded to six significant digits, so that they agree between devices; the mean
    to those that six digits of the largest number leave, so that what cancels gives 0. To be called
    within ``autograd.arithmetic()``.
    """
    return _summarised(tensor, readable(tensor) if values else None, zeros=False)[0]


def _summarised(
    tensor: torch.Tensor, own: torch.Tensor | None, zeros: bool
) -> tuple[ValueSummary, Statistics | None]:
    shape, dtype = autograd.shape_of(tensor), autograd.dtype_of(tensor)
    if own is None or not own.numel():
        return _without_numbers(shape, dtype), None
    found = statistics_of(own, zeros)
    if found is None:
        return _without_numbers(shape, dtype), None
    summary = ValueSummary(
        shape,
        dtype,
        _values(own) if own.numel() <= MOST_VALUES else None,
        _rounded(found.minimum),
        _rounded_mean(found.mean, max(abs(found.minimum), abs(found.maximum))),
        _rounded(found.maximum),
        _rounded(found.norm),
        found.nan > 0,
        found.inf > 0,
    )
    return summary, found


@lru_cache(maxsize=10_000)
def _without_numbers(shape: tuple[int, ...], dtype: str) -> ValueSummary:
    """As a recording without values needs for every gradient; made once."""
    return ValueSummary(shape, dtype)


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


def _rounded_mean(mean: float, largest: float) -> Number:
    if isfinite(mean) and 0 < largest < inf:
        mean = round(mean, 5 - floor(log10(largest))) + 0.0  # not -0.0
    return _rounded(mean)


def _rounded(value: float) -> Number:
    return autograd.as_number(float(f"{value:.6g}"))
