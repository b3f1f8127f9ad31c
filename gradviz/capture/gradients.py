"""What a ``.grad`` holds, in a few numbers."""

from __future__ import annotations

import torch

from gradviz.capture import autograd
from gradviz.capture.statistics import Statistics, readable, statistics_of, unless_out_of_memory
from gradviz.model.audit_input import Gradient


def gradient_of(
    grad: torch.Tensor, found: Statistics | None = None, is_unread: bool = False
) -> Gradient:
    """Count zeros, nan and inf of a gradient; what cannot be read without a risk is ``None``.

    To be called within ``autograd.arithmetic()``.

    Args:
        grad: The gradient.
        found: Its numbers with its zeros, if they have been read.
        is_unread: Whether it is not to be read.
    """
    shape, dtype = autograd.shape_of(grad), autograd.dtype_of(grad)
    layout = str(grad.layout).removeprefix("torch.")
    numbers = grad.numel()
    if is_unread:
        return Gradient(shape, dtype, layout, numbers, is_unread=True)
    count = numbers
    if found is None:
        own = _numbers(grad)
        if own is not None and not own.numel():
            return Gradient(shape, dtype, layout, numbers, numbers, 0, 0, 0.0)
        found = None if own is None else statistics_of(own)
        count = 0 if own is None else own.numel()
    if found is None or found.zeros is None:
        return Gradient(shape, dtype, layout, numbers)
    return Gradient(
        shape,
        dtype,
        layout,
        numbers,
        found.zeros + numbers - count,  # those that a sparse gradient leaves out are 0
        found.nan,
        found.inf,
        autograd.as_number(float(f"{found.norm:.6g}")),
    )


def is_any_not_zero(tensor: torch.Tensor) -> bool | None:
    """Whether a tensor has a number that is not 0; ``None`` if it cannot be read.

    To be called within ``autograd.arithmetic()``.
    """
    zeros = gradient_of(tensor).zeros
    return None if zeros is None else zeros < tensor.numel()


def one_number(tensor: torch.Tensor) -> bool | int | float | complex | None:
    """The number of a tensor that has one; ``None`` if it has more, or cannot be read.

    To be called within ``autograd.arithmetic()``.
    """
    own = _numbers(tensor)
    return None if own is None or own.numel() != 1 else own.item()


@unless_out_of_memory
def _numbers(tensor: torch.Tensor) -> torch.Tensor | None:
    """The numbers of a tensor as a plain tensor, those of a sparse one added up."""
    if type(tensor) is torch.Tensor and tensor.layout is torch.sparse_coo:
        if tensor.device.type == "meta" or not autograd.wait_until_written(tensor):
            return None
        tensor = tensor.detach().coalesce().values()
    return readable(tensor)
