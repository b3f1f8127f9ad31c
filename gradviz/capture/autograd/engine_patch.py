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

NOTE [Threads of the engine]
torch runs the nodes of an accelerator, and backwards that are nested deeply, on threads of its
own, while the thread that has called backward waits. Such a thread works for another: its hooks
are part of that backward, and what they start belongs to the same recording. So what a thread
works for, :class:`_Work`, is told by its number or, in a thread of the engine, by the state that
torch hands on to it from the thread that called it. It is put into that state only where torch
may hand it on: if there is an accelerator, and inside of a backward, after whose node torch puts
the state back itself. torch offers no way to take it out again, and a thread that ends with an
object of Python in its state, while the interpreter ends too, aborts the process.

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
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from types import CodeType, FrameType
from typing import Any, Final, TypeAlias

import torch

from gradviz.capture.autograd.code_objects import code_of, never_compiled
from gradviz.capture.autograd.engine_threads import engine_threads
from gradviz.capture.autograd.guards import is_compiled_now
from gradviz.capture.stacks import stack_of
from gradviz.capture.user_code import runs_user_code
from gradviz.model.collector import no_collection

_NAME: Final = "_engine_run_backward"
_HOLDERS: Final = (torch.autograd, torch.autograd.graph)
"""Modules of torch that call the engine by this name."""
_ENGINE: Final = code_of(torch.autograd.graph._engine_run_backward)
"""Code of torch's function that runs the engine."""
_set_compiler: Final[Any] = torch._C._dynamo.eval_frame.set_eval_frame
"""Sets what ``torch.compile`` calls for each function that this thread begins, and returns what it
has called so far; ``None`` calls nothing."""
_reading: Final = threading.RLock()
_let_go: Final[dict[int, int]] = {}
"""Threads that have waited and run backward now; with the backward inside which they were."""

BackwardObserver: TypeAlias = Callable[[Callable[[], Any], "BackwardCall"], Any]
"""Is given a function that runs the backward, and what it was called with."""
_WORK: Final = "gradviz work"
"""Key under which torch hands a :class:`_Work` on to threads of the engine."""
_works: Final[dict[int, _Work]] = {}
"""What threads work for that record or have called backward."""
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


@dataclass(frozen=True)
class _Work:
    """For whom a thread works: NOTE [Threads of the engine]."""

    recording: list[BackwardObserver]
    """Who observes the backwards that are started; empty after the recording."""
    waiting: frozenset[int] = frozenset()
    """Threads that have called the backwards inside which it works, and wait for them."""


_NO_WORK: Final = _Work([])


def _work() -> _Work:
    return _works.get(threading.get_ident()) or _handed_on()


def _handed_on() -> _Work:
    found: _Work = torch._C._get_obj_in_tls(_WORK) if torch._C._is_key_in_tls(_WORK) else _NO_WORK
    return found


def _begin(work: _Work) -> Callable[[], None]:
    """Let this thread work for somebody; how to go back to what it did before."""
    me, before, handed_on = threading.get_ident(), _works.get(threading.get_ident()), _handed_on()
    hands_on = torch._C._current_graph_task_id() >= 0 or engine_threads() > 0

    def end() -> None:
        if before is None:
            _works.pop(me, None)
        else:
            _works[me] = before
        if hands_on:
            torch._C._stash_obj_in_tls(_WORK, handed_on)

    _works[me] = work
    if hands_on:
        torch._C._stash_obj_in_tls(_WORK, work)
    return end


def in_recording() -> bool:
    """Whether this thread works for a recording: runs what is recorded, or a part of a backward
    that it has started."""
    return bool(_work().recording)


@runs_user_code
@never_compiled
def run_when_nobody_reads(engine: Any, t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
    """Wait for the reading to end, then run backward by ``engine``, observed if somebody does."""
    compiler = _set_compiler(None)  # it would compile what observes this backward, and its hooks
    me, inside = threading.get_ident(), torch._C._current_graph_task_id()
    is_ours_again = _let_go.get(me) == inside  # somebody has put another function over ours
    if is_ours_again or is_compiled_now():
        _set_compiler(compiler)
        return engine(t_outputs, *args, **kwargs)
    outer, work = _let_go.get(me), _work()
    end = _begin(replace(work, waiting=work.waiting | {me}))
    try:
        with _reading:
            _let_go[me] = inside
        if not work.recording:
            _set_compiler(compiler)
            try:
                return engine(t_outputs, *args, **kwargs)
            finally:
                for tell in list(_strangers):
                    tell()
        call = _call(t_outputs, *args, **kwargs)
        return work.recording[0](partial(engine, t_outputs, *args, **kwargs), call)
    finally:
        end()
        if outer is None:
            _let_go.pop(me, None)  # a signal may have come while it waited
        else:
            _let_go[me] = outer
        _set_compiler(compiler)


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

    So it is with those that hooks start on threads of the engine. ``stranger`` is called when
    a thread that does not work for this one has run one.
    """
    recording = [observer]
    with _exchanged():
        end = _begin(replace(_work(), recording=recording))
        _strangers.append(stranger)
        try:
            yield
        finally:
            _strangers.remove(stranger)
            recording.clear()  # also for threads of the engine that have not ended their part
            end()


def other_frames() -> dict[int, FrameType]:
    """The innermost frame of every other thread that runs Python."""
    with no_collection():  # NOTE [Frames of all threads]
        frames = sys._current_frames()
    frames.pop(threading.get_ident(), None)
    return frames


def other_backwards() -> list[list[Any]]:
    """The nodes at which the backwards of each other thread, run now or about to be, have started.

    Threads that wait for this one are left out.
    """
    waiting = _work().waiting
    others = [(t, frame) for t, frame in other_frames().items() if t not in waiting]
    return [roots for thread, frame in others if (roots := _roots_in(frame, thread))]


def own_backwards() -> list[Any]:
    """The nodes at which the backwards that this thread is inside of have started."""
    waiting = _work().waiting
    roots = _roots_in(sys._getframe(), threading.get_ident())
    for thread, frame in other_frames().items():
        if thread in waiting:
            roots += _roots_in(frame, thread)
    return roots


def is_engine_thread() -> bool:
    """Whether this thread runs a node of a backward that another thread has called."""
    has_engine = any(frame.f_code is _ENGINE for frame in stack_of(sys._getframe()))
    return not has_engine and torch._C._current_graph_task_id() >= 0


def _roots_in(innermost: FrameType, thread: int) -> list[Any]:
    roots: list[Any] = []
    is_called = False
    for frame in stack_of(innermost):
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
