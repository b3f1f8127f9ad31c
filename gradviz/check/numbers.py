"""Numbers of gradients, read without a change and compared as ``torch.testing`` does."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import torch

from gradviz.capture import autograd, threads
from gradviz.capture.statistics import readable, unless_out_of_memory
from gradviz.capture.tensors import flags_of
from gradviz.check.arguments import Given
from gradviz.check.frames import HIDDEN
from gradviz.model import CheckFailed, OptionError
from gradviz.model.formatting import number, numbers, shape

__tracebackhide__ = HIDDEN

FEW: Final = 8
"""Tensors of up to so many numbers are shown whole."""


class Tolerance(NamedTuple):
    """How far numbers may be apart, as for ``torch.testing.assert_close``."""

    rtol: float | None
    atol: float | None


def tolerance(rtol: object, atol: object, call: str) -> Tolerance:
    """Both or none, as ``torch.testing.assert_close`` wants them.

    Raises:
        OptionError: If one is missing, or if one is no number from 0 on.
    """
    pair = (rtol, atol)
    for one in pair:
        is_number = isinstance(one, (int, float)) and not isinstance(one, bool)
        if one is not None and not (is_number and float(str(one)) >= 0):
            raise OptionError(
                f"rtol= and atol= are numbers from 0 on, not {one!r:.40}. Type: {call}"
            )
    if (rtol is None) != (atol is None):
        raise OptionError(
            "rtol= and atol= come together, as for torch.testing.assert_close; without both, the "
            f"tolerance is the one of the dtype. Type: {call}"
        )
    return Tolerance(*pair)  # type: ignore[arg-type]


def grad_of(one: Given, expected: str) -> torch.Tensor | None:
    """``.grad`` of a tensor, read so that torch does not warn.

    Raises:
        CheckFailed: If reading it could change the graph.
    """
    (info,) = flags_of([one.tensor])
    if info.is_leaf is None and not info.retains_grad:
        raise CheckFailed(
            f"it is not known whether {one.name} is a leaf, and has a .grad",
            expected,
            "it is a view, and it or its base was written in place",
        )
    if not info.is_leaf and not info.retains_grad:
        return None
    with autograd.unseen(), threads.undisturbed({}):
        return autograd.grad_of(one.tensor)


@unless_out_of_memory
def plain(tensor: torch.Tensor) -> torch.Tensor | None:
    """The numbers of a tensor as a dense one of torch's own class; ``None`` if it has none.

    To be called within ``autograd.arithmetic()``.
    """
    own = tensor.detach()
    if type(own) is not torch.Tensor:
        own = own.as_subclass(torch.Tensor)
    if own.layout is not torch.strided and not own.is_meta:
        if not autograd.wait_until_written(own):
            return None
        own = own.to_dense()
    return readable(own)


def differs(
    name: str, actual: torch.Tensor, expected: torch.Tensor, allowed: Tolerance
) -> str | None:
    """What differs between two plain tensors of one shape, ``None`` if they are close.

    To be called within ``autograd.arithmetic()``.
    """
    expected = expected.to(actual.device)
    try:
        torch.testing.assert_close(
            actual, expected, rtol=allowed.rtol, atol=allowed.atol, check_dtype=False
        )
    except AssertionError:
        pass
    else:
        return None
    if actual.numel() <= FEW:
        return f"{name} is {written(actual)}"
    wide = torch.complex128 if actual.is_complex() or expected.is_complex() else torch.float64
    apart = (actual.to(wide) - expected.to(wide)).abs()
    apart = apart.nan_to_num(nan=torch.inf)
    at = int(apart.argmax())
    place = ", ".join(str(int(i)) for i in torch.unravel_index(torch.tensor(at), actual.shape))
    mine, other = (number(_data(one.flatten()[at].item()), 6) for one in (actual, expected))
    differing = int((apart > 0).sum())
    return f"{name}[{place}] is {mine}, not {other} ({differing} of {actual.numel()} differ)"


def times(actual: torch.Tensor, expected: torch.Tensor) -> int | None:
    """A whole number from 2 to 100 by which the expected numbers are too small.

    To be called within ``autograd.arithmetic()``.
    """
    expected = expected.to(actual.device, actual.dtype)
    total = expected.abs().sum()
    ratio = (actual.abs().sum() / total).item() if total else 0.0
    if not 1.5 < ratio < 100.5:
        return None
    factor = round(ratio)
    return factor if torch.allclose(actual, factor * expected) else None


def written(tensor: torch.Tensor) -> str:
    """A small tensor as numbers; of a larger one its shape.

    To be called within ``autograd.arithmetic()``.
    """
    if tensor.numel() > FEW:
        return f"a tensor of shape {shape(tuple(tensor.shape))}"
    flat = [_data(one) for one in tensor.flatten().tolist()]
    text = numbers(flat, tuple(tensor.shape), digits=6)
    return text if tensor.dim() < 2 else f"{text} of shape {shape(tuple(tensor.shape))}"


def _data(value: Any) -> Any:
    return autograd.as_number(value)
