"""Which threads run backward now, and how others are kept from starting one.

NOTE [Backward in another thread]
The getters of saved tensors take no lock: reading them while another thread runs a freeing
backward over the same graph kills the interpreter (F3.05). Reading structure
(``next_functions``, ``name``) is safe. Every backward from Python goes through
``torch.autograd.graph._engine_run_backward``, so a thread that runs one has that function on its
Python stack, with the roots among its arguments. While saved tensors are read, and only if
another thread could start a backward meanwhile, that function has another body, which waits for
the reading to end. Backwards that already run are found on the stacks after the exchange.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import CodeType, FrameType, FunctionType
from typing import Any, Final, TypeAlias

from torch.autograd import graph as _graph

from gradviz.capture.user_code import runs_user_code

_run_backward: Final[Any] = _graph._engine_run_backward
_CODE: Final[CodeType] = _run_backward.__code__
_original: Final = FunctionType(_CODE, _run_backward.__globals__, _CODE.co_name)
_reading: Final = threading.RLock()
_let_go: Final[set[int]] = set()
"""Threads that have waited and run backward now."""

BackwardObserver: TypeAlias = Callable[[Callable[[], Any], "BackwardCall"], Any]
"""Is given a function that runs the backward, and what it was called with."""
_observers: Final[dict[int, BackwardObserver]] = {}
"""Who observes the backwards that a thread starts, by thread."""
_strangers: Final[list[Callable[[], None]]] = []
"""Who is told that a thread which nobody observes has run a backward."""
_exchanging: Final = threading.Lock()
_uses = 0
"""How many want the other body: readings and observers."""


@dataclass(frozen=True)
class BackwardCall:
    """What ``backward()`` or ``autograd.grad()`` hands to the engine."""

    roots: Sequence[Any]
    """Tensors, or pairs of node and output number."""
    gradients: Sequence[Any]
    retain_graph: bool
    create_graph: bool
    inputs: Sequence[Any]
    accumulates: bool


@runs_user_code
def run_when_nobody_reads(t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
    """Wait for the reading to end, then run backward as torch does."""
    me = threading.get_ident()
    with _reading:
        is_first = me not in _let_go
        _let_go.add(me)
    try:
        observer = _observers.get(me)
        if observer is None:
            try:
                return _original(t_outputs, *args, **kwargs)
            finally:
                for tell in list(_strangers):
                    tell()
        call = _call(t_outputs, *args, **kwargs)
        return observer(partial(_original, t_outputs, *args, **kwargs), call)
    finally:
        if is_first:
            _let_go.discard(me)


def _call(
    roots: Any,
    gradients: Any = (),
    retain_graph: Any = False,
    create_graph: Any = False,
    inputs: Any = (),
    *_: Any,
    accumulate_grad: bool = False,
    **__: Any,
) -> BackwardCall:
    return BackwardCall(
        tuple(roots),
        tuple(gradients),
        bool(retain_graph),
        bool(create_graph),
        tuple(inputs),
        accumulate_grad,
    )


# The body that is exchanged sees the names of torch.autograd.graph, hence the import.
@runs_user_code
def _other_body(t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
    from gradviz.capture.autograd.backward import run_when_nobody_reads

    return run_when_nobody_reads(t_outputs, *args, **kwargs)


@contextmanager
def _exchanged() -> Iterator[None]:
    global _uses
    with _exchanging:
        _uses += 1
        _run_backward.__code__ = _other_body.__code__
    try:
        yield
    finally:
        with _exchanging:
            _uses -= 1
            if not _uses:
                _run_backward.__code__ = _CODE


@contextmanager
def backwards_wait() -> Iterator[None]:
    """Let other threads' backwards wait for the length of the block; this thread's do not run."""
    with _reading, _exchanged():
        yield


@contextmanager
def backwards_observed(observer: BackwardObserver, stranger: Callable[[], None]) -> Iterator[None]:
    """Hand every backward that this thread starts in the block to ``observer``, which runs it.

    ``stranger`` is called when another thread has run one.
    """
    me = threading.get_ident()
    with _exchanged():
        _observers[me] = observer
        _strangers.append(stranger)
        try:
            yield
        finally:
            _strangers.remove(stranger)
            del _observers[me]


def other_frames() -> dict[int, FrameType]:
    """The innermost frame of every other thread that runs Python."""
    frames = sys._current_frames()
    frames.pop(threading.get_ident(), None)
    return frames


def roots_of_running_backwards() -> list[Any]:
    """Nodes at which backwards that other threads run now have started."""
    roots: list[Any] = []
    for thread, innermost in other_frames().items():
        frame: FrameType | None = innermost
        while frame is not None:
            waited = frame.f_code is run_when_nobody_reads.__code__ and thread in _let_go
            if frame.f_code is _CODE or waited:
                roots.extend(_roots(frame))
            frame = frame.f_back
    return roots


def _roots(frame: FrameType) -> list[Any]:
    outputs = frame.f_locals.get("t_outputs", ())
    # A GradientEdge is a pair of a node and an output number.
    return [
        node
        for output in outputs
        if (node := output[0] if isinstance(output, tuple) else output.grad_fn) is not None
    ]
