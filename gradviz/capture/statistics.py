"""Zeros, nan, inf, minimum, mean, maximum and norm of a tensor, in little memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Final, NamedTuple, ParamSpec, TypeVar

import torch

from gradviz.capture import autograd

CHUNK: Final = 1 << 16
"""How many numbers are in memory in double precision at a time."""
_COMPARABLE: Final = (torch.float32, torch.float64)
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Statistics(NamedTuple):
    """What is known of the numbers of a tensor; for complex ones, of their magnitudes."""

    zeros: int | None
    nan: int
    inf: int
    minimum: float
    mean: float
    maximum: float
    norm: float


def unless_out_of_memory(read: Callable[_P, _T]) -> Callable[_P, _T | None]:
    """Let a function return ``None`` where torch cannot compute, mostly for lack of memory.

    The error is not kept, and so nothing that the function had in memory. What it raises is
    ``RecursionError``: that the stack is used up is no matter of the tensor.
    """

    @wraps(read)
    def reads(*args: _P.args, **kwargs: _P.kwargs) -> _T | None:
        try:
            return read(*args, **kwargs)
        except RecursionError:
            raise
        except (MemoryError, RuntimeError):
            return None

    return reads


def is_readable(tensor: torch.Tensor) -> bool:
    """Whether reading the numbers of a tensor is harmless; its device is waited for if so.

    To be called within ``autograd.arithmetic()``.
    """
    return autograd.is_plain(tensor) and autograd.wait_until_written(tensor)


@unless_out_of_memory
def readable(tensor: torch.Tensor) -> torch.Tensor | None:
    """The numbers of a plain tensor, ``None`` if reading them is not harmless.

    Those of one chunk are copied to the host. To be called within ``autograd.arithmetic()``.
    """
    if not is_readable(tensor):
        return None
    own = tensor.detach()
    return own.cpu() if own.numel() <= CHUNK else own


@unless_out_of_memory
def statistics_of(own: torch.Tensor, zeros: bool = True) -> Statistics:
    """Reduce a :func:`readable` tensor that has at least one number.

    NOTE [Numbers in chunks]: A whole copy in double precision takes up to eight times the memory
    of the tensor, which the recorded code may need. Chunks are taken in the order of rows,
    whatever the order in memory is, and each is reduced as a contiguous tensor, so that the digits
    are the same for all memory orders. The host waits for a GPU once, when the results are copied,
    and once more to count nan and inf if there are any. Zeros are counted if somebody asks.

    To be called within ``autograd.arithmetic()``.

    Args:
        own: The tensor.
        zeros: Whether zeros are counted, which takes as long as all the rest.
    """
    found = (_reduced(*chunk, zeros) for chunk in _chunks(own))
    if own.is_cpu:  # there is nothing to wait for, and most gradients are small
        rows = [[one.item() for one in row] for row in found]
    else:
        there = [torch.stack([one.to(row[3].dtype) for one in row]) for row in found]
        rows = torch.stack(there).tolist()
    low, high, total, norms, *filled = zip(*rows)
    nan = inf = 0
    if not all(map(math.isfinite, (*low, *high))):
        odd = torch.stack([_not_finite(chunk) for chunk, _ in _chunks(own)]).tolist()
        nan, inf = map(sum, zip(*odd))
    return Statistics(
        own.numel() - int(sum(filled[0])) if filled else None,
        nan,
        inf,
        _unless_nan(min, low),
        sum(total) / own.numel(),
        _unless_nan(max, high),
        _unless_nan(lambda column: math.hypot(*column), norms),
    )


def _unless_nan(reduce: Callable[[tuple[float, ...]], float], column: tuple[float, ...]) -> float:
    return math.nan if any(map(math.isnan, column)) else reduce(column)


def _reduced(numbers: torch.Tensor, given: torch.Tensor, zeros: bool) -> list[torch.Tensor]:
    """Minimum, maximum, sum, norm and how many are not 0; nothing waits for them.

    Args:
        numbers: A chunk in double precision.
        given: The same as it was given; minimum and maximum need no other precision.
        zeros: Whether those that are not 0 are counted.
    """
    magnitudes = numbers.abs() if numbers.is_complex() else numbers
    low, high = torch.aminmax(given if given.dtype in _COMPARABLE else magnitudes)
    norm = torch.linalg.vector_norm(magnitudes)
    found = [low, high, magnitudes.sum(), norm]
    if zeros:
        found.append(numbers.count_nonzero())
    return found


def _not_finite(numbers: torch.Tensor) -> torch.Tensor:
    """How many numbers are nan, and how many infinite."""
    return torch.stack([numbers.isnan().count_nonzero(), numbers.isinf().count_nonzero()])


def _chunks(tensor: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """The numbers in the order of rows, at most ``CHUNK`` at a time, contiguous in memory.

    In double precision, and as they are where that is as easily compared.
    """
    # In double precision, so that a sum or a norm of large numbers does not overflow.
    wide = torch.float32 if tensor.device.type == "mps" else torch.float64
    dtype = wide.to_complex() if tensor.is_complex() else wide
    count = tensor.numel()
    whole = tensor.view(-1) if tensor.is_contiguous() else tensor
    for start in range(0, count, CHUNK):
        parts = _pieces(whole, start, min(CHUNK, count - start))
        first, *more = [part.reshape(-1) for part in parts]
        if more or first.dtype not in _COMPARABLE:
            first = torch.cat([part.to(dtype) for part in (first, *more)])
        given = first.contiguous()
        yield given.to(dtype), given


def _pieces(tensor: torch.Tensor, start: int, count: int) -> Iterator[torch.Tensor]:
    """Views that hold ``count`` numbers from number ``start`` on, counted in the order of rows."""
    if tensor.dim() < 2:
        yield tensor[start : start + count] if tensor.dim() else tensor
        return
    length = tensor[0].numel()
    row, start = divmod(start, length)
    if start or count < length:
        first = min(length - start, count)
        yield from _pieces(tensor[row], start, first)
        row, count = row + 1, count - first
    if count >= length:
        rows = count // length
        yield tensor[row : row + rows]
        row, count = row + rows, count - rows * length
    if count:
        yield from _pieces(tensor[row], 0, count)
