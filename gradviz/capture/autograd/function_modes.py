"""Switches a ``TorchFunctionMode`` on and off where it is on the stack."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import repeat

from torch._C import _pop_torch_function_stack, _push_on_torch_function_stack
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack


@contextmanager
def mode_on(mode: TorchFunctionMode) -> Iterator[None]:
    """Keep a mode on for the block, and take it off wherever in the stack it then is.

    It goes below the modes of the user's: torch takes off the one on top, whichever ends, so one
    of the user's that ends inside the block must be on top.

    One that is on already stays: in torch 2.10 ``torch.autograd.backward`` asks no mode, so
    that it is not off in there.
    """
    if any(other is mode for other in _get_current_function_mode_stack()):
        yield
        return
    put_mode_on(mode, 0)
    try:
        yield
    finally:
        take_mode_off(mode)


def take_mode_off(mode: TorchFunctionMode) -> int | None:
    """Take a mode off, wherever in the stack it is; gives its place, ``None`` if it is not on."""
    stack = _get_current_function_mode_stack()
    place = next((i for i in reversed(range(len(stack))) if stack[i] is mode), None)
    if place is not None:
        _replace_top(len(stack) - place, stack[place + 1 :])
    return place


def put_mode_on(mode: TorchFunctionMode, place: int) -> None:
    """Put a mode on again where it was."""
    above = _get_current_function_mode_stack()[place:]
    _replace_top(len(above), (mode, *above))


def _replace_top(count: int, modes: Sequence[TorchFunctionMode]) -> None:
    """Replace as many modes as there are on top, in one call of functions of C.

    No signal is handled between them, so that Ctrl-C loses no mode of the user's.
    """
    push = (partial(_push_on_torch_function_stack, one) for one in modes)
    calls: list[Callable[[], object]] = [*repeat(_pop_torch_function_stack, count), *push]
    deque(map(operator.call, calls), maxlen=0)
