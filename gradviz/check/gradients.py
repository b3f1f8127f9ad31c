"""Checks of what is in ``.grad``."""

from __future__ import annotations

from typing import Any, Final, NoReturn

import torch

from gradviz.capture import autograd
from gradviz.check.arguments import Given, callers_names, listed, tensors_in
from gradviz.check.frames import HIDDEN
from gradviz.check.numbers import FEW, Tolerance, differs, grad_of, plain, times, tolerance, written
from gradviz.check.verdict import Passed, not_known
from gradviz.model import CheckFailed, OptionError
from gradviz.model.formatting import shape

__tracebackhide__ = HIDDEN

_IS: Final = "gradviz.check.grad_is(w, [1.0, 2.0])"
_SAME: Final = "gradviz.check.same_grad(model, other_model)"
_SUM: Final = "backward adds to .grad, and does not replace what is there"


def grad_is(
    tensor: Any, value: Any, *, rtol: float | None = None, atol: float | None = None
) -> Passed:
    """Check what is in ``.grad`` of a tensor.

    Only reads ``.grad``; on a GPU this waits for pending work.

    Args:
        tensor: A tensor.
        value: A number, nested lists of numbers, or a tensor, of the shape of ``.grad``; or
            ``None``: there should be none.
        rtol: Relative tolerance, with ``atol``, as for ``torch.testing.assert_close``; by default
            that of the dtype.
        atol: Absolute tolerance.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If it is another, or its numbers cannot be read.
        NotATensorError: If ``tensor`` is something else.
        OptionError: If ``value`` is none of these, or a tolerance is wrong.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> (w * w).sum().backward()
        >>> gradviz.check.grad_is(w, [2.0, 4.0])
        passed: w.grad is [2.0, 4.0]
        >>> (w * w).sum().backward()
        >>> gradviz.check.grad_is(w, [2.0, 4.0])
        Traceback (most recent call last):
        gradviz.model.errors.CheckFailed: w.grad is [4.0, 8.0]; expected [2.0, 4.0]
        Why: it is 2 times that; backward adds to .grad, and does not replace what is there
        Type: w.grad = None  # before backward
    """
    allowed = tolerance(rtol, atol, _IS)
    one = tensors_in((tensor,), "the tensor", _IS, callers_names(), modules=False)[0]
    grad = grad_of(one, ".grad")
    if value is None:
        if grad is None:
            return Passed(f"{one.name}.grad is None")
        raise CheckFailed(
            f"{one.name}.grad is not None",
            "None",
            "a backward has reached it since its .grad was cleared last",
            f"{one.code}.grad = None",
        )
    if grad is None:
        _raise_no_grad(one, "a gradient")
    with autograd.arithmetic():
        mine = _numbers(grad, one)
        wanted = _wanted(value, mine)
        words = written(wanted)
        if tuple(mine.shape) != tuple(wanted.shape):
            raise CheckFailed(
                f"{one.name}.grad has the shape {shape(tuple(mine.shape))}",
                f"the shape {shape(tuple(wanted.shape))}",
                ".grad has the shape of its tensor",
                f"print({one.code}.grad)",
            )
        found = differs(f"{one.name}.grad", mine, wanted, allowed)
        if found is not None:
            _raise_other(one, found, words, times(mine, wanted))
        own = written(mine) if mine.numel() <= FEW else f"what was expected, {written(mine)}"
    return Passed(f"{one.name}.grad is {own}")


def same_grad(
    one: Any, other: Any, *, rtol: float | None = None, atol: float | None = None
) -> Passed:
    """Check that two tensors, or all parameters of two models, have the same ``.grad``.

    Only reads ``.grad``; on a GPU this waits for pending work. The tensors are compared in their
    order.

    Args:
        one: A tensor, a module, or lists, tuples and dicts of them.
        other: The same.
        rtol: Relative tolerance, with ``atol``, as for ``torch.testing.assert_close``; by default
            that of the dtype.
        atol: Absolute tolerance.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If one has no ``.grad``, if two differ, or if numbers cannot be read.
        NotATensorError: If there is something else among them.
        OptionError: If a tolerance is wrong.

    Examples:
        >>> import torch, gradviz
        >>> a, b = (torch.tensor(3.0, requires_grad=True) for _ in range(2))
        >>> (a * a).backward()
        >>> b.pow(2).backward()
        >>> gradviz.check.same_grad(a, b)
        passed: a.grad and b.grad are the same
    """
    allowed = tolerance(rtol, atol, _SAME)
    names = callers_names()
    mine = tensors_in((one,), "the first tensor", _SAME, names)
    theirs = tensors_in((other,), "the second tensor", _SAME, names)
    if len(mine) != len(theirs):
        raise CheckFailed(
            f"there are {len(mine)} tensors and {len(theirs)}",
            "as many on both sides",
            "their gradients are compared in order, one with one; a shared parameter counts once",
            _SAME,
        )
    for first, second in zip(mine, theirs):
        _compare(first, second, allowed)
    if len(mine) == 1:
        return Passed(f"{mine[0].name}.grad and {theirs[0].name}.grad are the same")
    return Passed(f"the .grad of {listed(mine)} and of {listed(theirs)} are the same")


def _compare(first: Given, second: Given, allowed: Tolerance) -> None:
    expected = f"the .grad of {second.name}"
    grads = [grad_of(one, expected) for one in (first, second)]
    for one, grad in zip((first, second), grads):
        if grad is None:
            _raise_no_grad(one, "a gradient to compare")
    with autograd.arithmetic():
        left, right = (
            _numbers(grad, one) for one, grad in zip((first, second), grads) if grad is not None
        )
        if left.shape != right.shape:
            raise CheckFailed(
                f"{first.name}.grad has the shape {shape(tuple(left.shape))}",
                f"the shape of {second.name}.grad, {shape(tuple(right.shape))}",
                ".grad has the shape of its tensor",
            )
        found = differs(f"{first.name}.grad", left, right, allowed)
        if found is not None:
            words = written(right) if right.numel() <= FEW else "the same numbers"
            _raise_other(first, found, f"{words}, as {second.name}.grad", times(left, right))


def _raise_no_grad(one: Given, expected: str) -> NoReturn:
    if not one.tensor.requires_grad:
        why = "it does not require grad, so backward computes no gradient for it"
        fix = f"{one.code}.requires_grad_()  # before the forward"
    elif not autograd.place_may_be_stale(one.tensor) and one.tensor.grad_fn is not None:
        why = "it is a result of an operation; backward keeps .grad of leaves alone"
        fix = f"{one.code}.retain_grad()  # before backward"
    else:
        why = (
            "backward has not run, the graph does not lead to it, or .grad was cleared since: "
            "zero_grad() sets it to None"
        )
        fix = f"loss.backward(), or to see what is cut: gradviz.check.gets_grad(loss, {one.code})"
    raise CheckFailed(f"{one.name}.grad is None", expected, why, fix)


def _raise_other(one: Given, found: str, expected: str, factor: int | None) -> NoReturn:
    if factor is not None:
        fix = f"{one.code}.grad = None  # before backward"
        raise CheckFailed(found, expected, f"it is {factor} times that; {_SUM}", fix)
    why = "each node hands on what its derivative makes of the gradient that arrives at it"
    fix = "with gradviz.record() as recording: ...; gradviz.show(recording)"
    raise CheckFailed(found, expected, why, fix)


def _numbers(grad: torch.Tensor, one: Given) -> torch.Tensor:
    found = plain(grad)
    if found is None:
        not_known(
            f"what numbers {one.name}.grad has",
            "numbers that can be read",
            "it is on the meta device, consists of other tensors, or cannot be read without a wait "
            "that is not allowed now",
        )
    return found


def _wanted(value: Any, like: torch.Tensor) -> torch.Tensor:
    """What was expected, as a tensor."""
    if issubclass(type(value), torch.Tensor):
        found = plain(value)
        if found is None:
            raise OptionError(f"the numbers of the expected tensor cannot be read. Type: {_IS}")
        return found
    try:
        has_complex = isinstance(value, complex) and not like.is_complex()
        dtype = torch.complex64 if has_complex else like.dtype
        return torch.as_tensor(value, dtype=dtype, device=like.device)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise OptionError(
            f"grad_is() compares with a number, lists of numbers or a tensor, not with a "
            f"{type(value).__name__} like this one. Type: {_IS}"
        ) from None
