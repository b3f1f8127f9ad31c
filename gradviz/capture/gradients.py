"""What a ``.grad`` holds, in a few numbers."""

from __future__ import annotations

import torch

from gradviz.capture import autograd
from gradviz.model.audit_input import Gradient


def gradient_of(grad: torch.Tensor) -> Gradient:
    """Count zeros, nan and inf of a gradient; what cannot be read without a risk is ``None``.

    To be called within ``autograd.arithmetic()``.
    """
    shape, dtype = autograd.shape_of(grad), autograd.dtype_of(grad)
    layout = str(grad.layout).removeprefix("torch.")
    numbers = grad.numel()
    own = readable(grad)
    if own is None:
        return Gradient(shape, dtype, layout, numbers)
    counts = torch.stack([(own == 0).sum(), own.isnan().sum(), own.isinf().sum()])
    zeros, nan, inf = map(int, counts.tolist())
    wide = torch.float32 if own.device.type == "mps" else torch.float64
    magnitudes = own.abs() if own.is_complex() else own.to(wide)
    norm = float(torch.linalg.vector_norm(magnitudes)) if own.numel() else 0.0
    return Gradient(
        shape,
        dtype,
        layout,
        numbers,
        zeros + numbers - own.numel(),  # those that a sparse gradient leaves out are 0
        nan,
        inf,
        autograd.as_number(float(f"{norm:.6g}")),
    )


def is_any_not_zero(tensor: torch.Tensor) -> bool | None:
    """Whether a tensor has a number that is not 0; ``None`` if it cannot be read.

    To be called within ``autograd.arithmetic()``.
    """
    own = readable(tensor)
    return None if own is None else bool((own != 0).any())


def readable(tensor: torch.Tensor) -> torch.Tensor | None:
    """The numbers of a tensor as a plain tensor, those of a sparse one added up."""
    if tensor.device.type == "meta" or not autograd.may_copy_to_host(tensor):
        return None
    if autograd.is_plain(tensor):
        return tensor.detach()
    if type(tensor) is torch.Tensor and tensor.layout is torch.sparse_coo:
        return tensor.detach().coalesce().values()
    return None
