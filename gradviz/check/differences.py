"""A check that a formula for a gradient agrees with numerical differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch

from gradviz.check.arguments import Given, callers_names, tensors_in
from gradviz.check.frames import HIDDEN
from gradviz.check.verdict import Passed, not_known
from gradviz.model import CheckFailed, OptionError
from gradviz.model.formatting import a_kind, number

__tracebackhide__ = HIDDEN

_CALL: Final = "gradviz.check.derivative(Cube.apply, x)"
_MOST: Final = 256
"""Elements of all inputs together, and of the output: the function is called twice for each."""
_STEP: Final = 1e-6
_RTOL: Final = 1e-3
_ATOL: Final = 1e-5


def derivative(function: Callable[..., Any], *inputs: Any) -> Passed:
    """Check that backward of a function gives the gradients that numerical differences give.

    Runs the function on copies of the inputs in float64, twice for each element; random numbers
    are the same each time, and those of your code stay as they were. It is a custom Function, as
    ``Cube.apply``, or any function of tensors that returns one tensor.

    Args:
        function: The function.
        inputs: Tensors it is called with. Those of floating point are compared, 256 elements of
            them at most.

    Returns:
        What was found; it prints it, and is true.

    Raises:
        CheckFailed: If an entry differs: about the one that differs most; or if the function does
            not take float64.
        NotATensorError: If an input is something else.
        OptionError: If there are too many elements, or the function returns no tensor.

    Examples:
        >>> import torch, gradviz
        >>> class Cube(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x**3
        ...
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x**2 * grad
        >>> x = torch.tensor([1.0, 2.0])
        >>> gradviz.check.derivative(Cube.apply, x)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        gradviz.model.errors.CheckFailed: backward gives 8.0 for x[1] and output [1]; ...
        Why: backward gives 0.6667 times what differences give, for each entry that differs
    """
    if not callable(function):
        raise OptionError(
            f"derivative() takes a function of tensors, not {a_kind(function)}. Type: {_CALL}"
        )
    names = callers_names()
    given = [tensors_in((one,), "the input", _CALL, names, modules=False)[0] for one in inputs]
    if not given:
        tensors_in((), "the input", _CALL, names)
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        return _compared(_Runs(function, given))


class _Runs:
    """Runs a function on copies of its inputs, with the same random numbers each time."""

    def __init__(self, function: Callable[..., Any], given: Sequence[Given]) -> None:
        self._function = function
        self._state = torch.get_rng_state()
        self.given = given
        self.copies = [_copy(one.tensor) for one in given]
        self.places = [n for n, one in enumerate(self.copies) if one.requires_grad]

    def run(self) -> torch.Tensor:
        """What the function returns for the copies as they are now."""
        torch.set_rng_state(self._state)
        try:
            found = self._function(*self.copies)
        except RuntimeError as error:
            not_known(
                "what the function returns",
                "a function that takes float64",
                f"it raised {a_kind(error)} for copies of the inputs in float64",
                "model.double()  # if it has parameters",
            )
        if not isinstance(found, torch.Tensor):
            raise OptionError(
                f"derivative() is about a function that returns one tensor, not a "
                f"{type(found).__name__}. Type: {_CALL}"
            )
        return found


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    own = tensor.detach().clone()
    if own.is_floating_point():
        return own.double().requires_grad_()
    return own


def _compared(runs: _Runs) -> Passed:
    count = sum(runs.copies[place].numel() for place in runs.places)
    if not count:
        raise OptionError(f"derivative() needs an input of floating point. Type: {_CALL}")
    output = runs.run()
    if count > _MOST or output.numel() > _MOST:
        raise OptionError(
            f"derivative() compares each element of the inputs with each of the output, {_MOST} at "
            f"most; here are {count} and {output.numel()}. Type: {_CALL} with a small x"
        )
    analytical = _jacobian(runs, output)
    numerical = _differences(runs)
    apart = (analytical - numerical).abs()
    allowed = _ATOL + _RTOL * numerical.abs()
    differing = ~(apart <= allowed)
    names = " and ".join(runs.given[place].name for place in runs.places)
    if not bool(differing.any()):
        return Passed(f"backward gives the gradients of {names} that differences give")
    at = int((apart - allowed).nan_to_num(nan=torch.inf).argmax())
    row, column = divmod(at, output.numel())
    mine, other = (float(one.flatten()[at]) for one in (analytical, numerical))
    if not math.isfinite(other):
        not_known(
            f"what the derivative is at {_named(row, runs)}",
            "inputs at which the function is smooth",
            f"{_STEP} above or below, the function returns nan or inf",
        )
    raise CheckFailed(
        f"backward gives {number(mine)} for {_named(row, runs)} and "
        f"{f'output {_place(column, output.shape)}' if output.dim() else 'the output'}",
        f"{number(other)}, as differences give",
        _why(analytical[differing], numerical[differing]),
    )


def _jacobian(runs: _Runs, output: torch.Tensor) -> torch.Tensor:
    """What backward gives: a row per element of the inputs, a column per element of the output."""
    inputs = [runs.copies[place] for place in runs.places]
    columns = []
    for one in output.flatten():
        grads: Sequence[torch.Tensor | None] = [None] * len(inputs)
        if one.requires_grad:
            grads = torch.autograd.grad(one, inputs, retain_graph=True, allow_unused=True)
        full = [
            torch.zeros_like(tensor) if grad is None else grad
            for tensor, grad in zip(inputs, grads)
        ]
        columns.append(torch.cat([grad.flatten().double() for grad in full]))
    return torch.stack(columns, 1)


def _differences(runs: _Runs) -> torch.Tensor:
    """The same by central differences."""
    rows = []
    with torch.no_grad():
        for place in runs.places:
            flat = runs.copies[place].view(-1)
            for n in range(flat.numel()):
                was = flat[n].item()
                flat[n] = was + _STEP
                above = runs.run().double().flatten().clone()
                flat[n] = was - _STEP
                below = runs.run().double().flatten().clone()
                flat[n] = was
                rows.append((above - below) / (2 * _STEP))
    return torch.stack(rows)


def _why(analytical: torch.Tensor, numerical: torch.Tensor) -> str:
    """What the entries that differ have in common."""
    if not bool(analytical.any()):
        return "backward gives 0 where the output does change with the input"
    if not bool(numerical.any()):
        return "backward gives a gradient where the output does not change with the input"
    ratios = analytical / numerical
    if ratios.numel() > 1 and bool((ratios - ratios[0]).abs().max() < 1e-2 * ratios[0].abs()):
        factor = number(round(float(ratios[0]), 4))
        return f"backward gives {factor} times what differences give, for each entry that differs"
    return "the formula in backward is not the derivative of what forward computes"


def _named(row: int, runs: _Runs) -> str:
    """An element of an input: ``x[1]``."""
    for place in runs.places:
        one = runs.copies[place]
        if row < one.numel():
            return f"{runs.given[place].name}{_place(row, one.shape) if one.dim() else ''}"
        row -= one.numel()
    return "the input"


def _place(at: int, sizes: torch.Size) -> str:
    index = torch.unravel_index(torch.tensor(at), sizes) if sizes else ()
    return f"[{', '.join(str(int(i)) for i in index)}]"
