"""Zeros, nan, inf, minimum, mean, maximum and norm of a tensor, in little memory."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Final, NamedTuple, ParamSpec, TypeVar

import torch

from gradviz.capture import autograd

CHUNK: Final = 1 << 16
"""How many numbers are in memory in double precision at a time."""
_FEW: Final = 8
"""How many numbers are reduced in Python."""
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


def is_finite(tensor: torch.Tensor) -> bool:
    """Whether a tensor is not known to have nan or inf: what cannot be read is taken to have none.

    The sum tells it in one look at the numbers: one that is finite has no nan or inf in it. Of
    tensors that are not in the memory of the host, those with at most one chunk are read. To be
    called within ``autograd.unseen()``.
    """
    if not (tensor.is_floating_point() or tensor.is_complex()) or not autograd.is_plain(tensor):
        return True
    try:
        if tensor.is_cpu:
            own: torch.Tensor | None = tensor.detach()
        else:
            with autograd.arithmetic():
                own = readable(tensor) if tensor.numel() <= CHUNK else None
        if own is None or cmath.isfinite(own.sum().item()):
            return True
        return bool(own.isfinite().all())
    except RecursionError:
        raise
    except (MemoryError, RuntimeError, OverflowError):
        return True


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
    if own.numel() <= _FEW and not own.is_complex():
        return _of_few(own, zeros)
    rows = _numbers([_reduced(*chunk, zeros) for chunk in _chunks(own)])
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


def _of_few(own: torch.Tensor, zeros: bool) -> Statistics:
    """As :func:`statistics_of`, of numbers so few that Python is faster than torch."""
    numbers = [float(number) for number in own.reshape(-1).tolist()]
    return Statistics(
        numbers.count(0) if zeros else None,
        sum(map(math.isnan, numbers)),
        sum(map(math.isinf, numbers)),
        _unless_nan(min, numbers),
        sum(numbers) / len(numbers),
        _unless_nan(max, numbers),
        _unless_nan(lambda column: math.hypot(*column), numbers),
    )


def _numbers(rows: list[list[torch.Tensor]]) -> list[list[float]]:
    """The numbers in tensors with one number each; a device is waited for once."""
    if rows[0][0].is_cpu:
        return [[one.item() for one in row] for row in rows]
    wide = rows[0][3].dtype  # of the norm
    found = torch.stack([torch.stack([one.to(wide) for one in row]) for row in rows])
    numbers: list[list[float]] = found.tolist()
    return numbers


def _unless_nan(reduce: Callable[[Sequence[float]], float], column: Sequence[float]) -> float:
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
    if numbers.is_cpu:
        norm = torch.dot(magnitudes, magnitudes).sqrt()
    else:  # the library for dot() would take memory of a GPU
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

    In double precision, and as they are where that is as easily compared. They are valid until the
    next are taken: all chunks are written into the same memory.
    """
    # In double precision, so that a sum or a norm of large numbers does not overflow.
    wide = torch.float32 if tensor.device.type == "mps" else torch.float64
    dtype = wide.to_complex() if tensor.is_complex() else wide
    count = tensor.numel()
    if count <= CHUNK:
        flat = tensor.reshape(-1)
        numbers = flat.to(dtype)
        yield numbers, flat if flat.dtype in _COMPARABLE else numbers
        return
    whole = tensor.view(-1) if tensor.is_contiguous() else tensor
    buffer = torch.empty(CHUNK, dtype=dtype, device=tensor.device)
    for start in range(0, count, CHUNK):
        first, *more = _pieces(whole, start, min(CHUNK, count - start))
        is_given = not more and first.is_contiguous() and first.dtype in _COMPARABLE
        given = first.view(-1) if is_given else None
        if given is not None and given.dtype is dtype:
            yield given, given
            continue
        numbers = buffer[: min(CHUNK, count - start)]
        at = 0
        for part in (first, *more):
            numbers[at : at + part.numel()].view(part.shape).copy_(part)
            at += part.numel()
        yield numbers, numbers if given is None else given


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
