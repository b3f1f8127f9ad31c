"""Which threads run backward now, and how others are kept from starting one.

NOTE [Backward in another thread]
The getters of saved tensors take no lock: reading them while another thread runs a freeing
backward over the same graph kills the interpreter (F3.05). Reading structure
(``next_functions``, ``name``) is safe. Every backward from Python calls ``_engine_run_backward``
by its name in ``torch.autograd`` or ``torch.autograd.graph``. While saved tensors are read, and
only if another thread could start a backward meanwhile, and while a recording runs, both names
stand for :func:`run_when_nobody_reads`, as ``torch.compiler`` replaces them for a while too. It
waits until nobody reads, tells the recording, and calls what stood there before. This one patch
serves both purposes: a function mode alone would not do, since it sees no backward that starts
from GradientEdges only, and none of another thread. What somebody else has put over ours stays
when we leave; ours then only calls on.

After the exchange of the names the stacks of all threads tell who runs a backward already: those
inside of torch's function, and those let go by ours. A thread may also have looked the old name
up and not have called it yet. Python changes threads only when a function begins, after a call of
a function in C, and at jumps backwards, none of which lies between; but a trace function or a
callback of ``sys.monitoring`` runs there too, and is code in Python. So a function that has
passed its look-up, and calls neither torch's function nor ours, counts as running a backward.
"""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from types import CodeType, FrameType
from typing import Any, Final, TypeAlias

import torch

from gradviz.capture.autograd.code_objects import code_of
from gradviz.capture.user_code import runs_user_code

_NAME: Final = "_engine_run_backward"
_HOLDERS: Final = (torch.autograd, torch.autograd.graph)
"""Modules of torch that call the engine by this name."""
_ENGINE: Final = code_of(torch.autograd.graph._engine_run_backward)
"""Code of torch's function that runs the engine."""
_reading: Final = threading.RLock()
_let_go: Final[dict[int, int]] = {}
"""Threads that have waited and run backward now; with the backward inside which they were."""

BackwardObserver: TypeAlias = Callable[[Callable[[], Any], "BackwardCall"], Any]
"""Is given a function that runs the backward, and what it was called with."""
_observers: Final[dict[int, BackwardObserver]] = {}
"""Who observes the backwards that a thread starts, by thread."""
_strangers: Final[list[Callable[[], None]]] = []
"""Who is told that a thread which nobody observes has run a backward."""
_exchanging: Final = threading.Lock()
_uses = 0
"""How many want the names exchanged: readings and observers."""


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
def run_when_nobody_reads(engine: Any, t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
    """Wait for the reading to end, then run backward by ``engine``, observed if somebody does."""
    me, inside = threading.get_ident(), torch._C._current_graph_task_id()
    if _let_go.get(me) == inside:  # somebody has put another function over ours, and we over it
        return engine(t_outputs, *args, **kwargs)
    outer = _let_go.get(me)
    try:
        with _reading:
            _let_go[me] = inside
        observer = _observers.get(me)
        if observer is None:
            try:
                return engine(t_outputs, *args, **kwargs)
            finally:
                for tell in list(_strangers):
                    tell()
        call = _call(t_outputs, *args, **kwargs)
        return observer(partial(engine, t_outputs, *args, **kwargs), call)
    finally:
        if outer is None:
            _let_go.pop(me, None)  # a signal may have come while it waited
        else:
            _let_go[me] = outer


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


def _is_ours(function: Any) -> bool:
    return isinstance(function, partial) and function.func is run_when_nobody_reads


@contextmanager
def _exchanged() -> Iterator[None]:
    global _uses
    with _exchanging:
        _uses += 1
        for module in _HOLDERS:
            there = getattr(module, _NAME)
            if not _is_ours(there):
                setattr(module, _NAME, partial(run_when_nobody_reads, there))
    try:
        yield
    finally:
        with _exchanging:
            _uses -= 1
            if not _uses:
                _put_back()


def _put_back() -> None:
    """Give the names back what they stood for, but for those that somebody has exchanged again."""
    for module in _HOLDERS:
        there = getattr(module, _NAME)
        if _is_ours(there):
            setattr(module, _NAME, there.args[0])


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
    """Nodes at which backwards that other threads run now, or are about to run, have started."""
    roots: list[Any] = []
    for thread, innermost in other_frames().items():
        frame: FrameType | None = innermost
        is_called = False
        while frame is not None:
            code = frame.f_code
            if code is _ENGINE or code is run_when_nobody_reads.__code__:
                is_called = True
                if code is _ENGINE or thread in _let_go:
                    roots.extend(_nodes_in(frame.f_locals.get("t_outputs", ())))
            elif _NAME in code.co_names and frame.f_lasti >= _look_up(code):
                if not is_called:
                    for value in list(frame.f_locals.values()):
                        roots.extend(_nodes_in(value))
                is_called = False
            frame = frame.f_back
    return roots


@lru_cache(maxsize=100)
def _look_up(code: CodeType) -> int:
    """Offset of the first instruction that looks the name of torch's function up."""
    offsets = (one.offset for one in dis.get_instructions(code) if one.argval == _NAME)
    return min(offsets, default=0)


def _nodes_in(value: Any) -> list[Any]:
    """Nodes of tensors and of GradientEdges, which are pairs of a node and an output number."""
    if isinstance(value, torch.Tensor):
        return [] if value.grad_fn is None else [value.grad_fn]
    if isinstance(value, torch.autograd.graph.GradientEdge):
        return [value.node]
    if isinstance(value, (tuple, list)):
        return [node for one in value for node in _nodes_in(one)]
    return []
