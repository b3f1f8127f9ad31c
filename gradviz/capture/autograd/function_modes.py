"""Switches a ``TorchFunctionMode`` on and off where it is on the stack."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch.overrides import (
    TorchFunctionMode,
    _get_current_function_mode_stack,
    _pop_mode,
    _push_mode,
)


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
        for _ in stack[place:]:
            _pop_mode()
        for other in stack[place + 1 :]:
            _push_mode(other)
    return place


def put_mode_on(mode: TorchFunctionMode, place: int) -> None:
    """Put a mode on again where it was."""
    above = _get_current_function_mode_stack()[place:]
    for _ in above:
        _pop_mode()
    for other in (mode, *above):
        _push_mode(other)
