"""Read ``.grad`` while other threads may set it.

NOTE [.grad in another thread]
``tensor.grad = None`` gives up the interpreter while torch frees the gradient, and only then
forgets it: a read by another thread meanwhile gets a tensor that is being freed, and the process
ends (F2.16). So a gradient is read only while no other thread is in the middle of an instruction
that sets an attribute, and in one call of C for the check and the reads. Python changes threads
only between instructions, so nobody can begin to set one in between. ``setattr()`` called by that
name cannot be told from other calls, and code in Python that runs because a gradient is freed, as
callbacks of weak references do, hides the instruction: neither is noticed.

NOTE [Frames of all threads]
Before Python 3.11.9 ``sys._current_frames()`` holds the lock of the list of threads while it makes
a dict: if the garbage collector begins there, and what it runs wants the lock too, the process
stands still for ever (CPython's issue 106883). So nothing is collected meanwhile.
"""

from __future__ import annotations

import opcode
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import compress, repeat, starmap
from operator import attrgetter, call, getitem, methodcaller
from typing import Any, Final

import torch

from gradviz.model import GraphBusyError
from gradviz.model.collector import no_collection

_SETS: Final = {opcode.opmap["STORE_ATTR"], opcode.opmap["DELETE_ATTR"]}
_position = attrgetter("f_code.co_code", "f_lasti")
_grad = attrgetter("grad")
_SECONDS: Final = 10.0


def grads_of(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
    """``.grad`` of tensors, all read at one moment.

    Waits, for microseconds, while another thread sets an attribute.

    Raises:
        GraphBusyError: If another thread takes 10 seconds for that.
    """
    ends = 0.0
    while True:
        with no_collection():  # NOTE [Frames of all threads]
            # One call from Python: list() runs the chain to its end.
            found = list(map(list, map(partial(map, _grad), compress([tensors], _nobody_sets()))))
        if found:
            return found[0]
        now = time.monotonic()
        ends = ends or now + _SECONDS
        if now > ends:
            raise GraphBusyError(
                "another thread is setting an attribute, which may be a .grad, and has not "
                "finished in 10 seconds. Reading .grad at the same time could crash Python. "
                "Take the snapshot after that thread: thread.join(); "
                "graph = gradviz.snapshot(loss)"
            )
        time.sleep(0)


def grad_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """``.grad`` of one tensor; see :func:`grads_of`."""
    return grads_of((tensor,))[0]


def _nobody_sets() -> Iterator[bool]:
    """Whether no thread is setting an attribute, found out whenever the next item is taken."""
    frames = map(call, repeat(sys._current_frames))
    positions = map(partial(map, _position), map(methodcaller("values"), frames))
    opcodes: Iterator[Any] = map(partial(starmap, getitem), positions)
    return map(_SETS.isdisjoint, opcodes)
