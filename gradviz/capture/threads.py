"""Read saved tensors only while no other thread runs backward on them.

NOTE [Backward in another thread]
The getters of saved tensors take no lock: reading them while another thread runs a freeing
backward over the same graph kills the interpreter (autograd-facts F3.05). Reading structure
(``next_functions``, ``name``) is safe. Every backward from Python goes through
``torch.autograd.graph._engine_run_backward``, so a thread that runs one has that function on
its Python stack, with the roots among its arguments. Such a backward can only begin when its
thread gets the GIL, and no read of ours gives it up; so the interpreter's switch interval is
raised while reading, the threads that were already waiting with the old interval are let
through, and the stacks are looked at again before each stretch of reading.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from gradviz.capture import autograd
from gradviz.model import GraphBusyError

_IDLE_FILES: Final = ("threading", "selectors", "queue", "socket", "asyncio", "zmq", "concurrent")
_LONG_INTERVAL: Final = 1.0
STRETCH: Final = 20_000
"""Nodes read between two looks at the other threads; well under ``_LONG_INTERVAL`` seconds."""


def _other_frames() -> dict[int, FrameType]:
    frames = sys._current_frames()
    frames.pop(threading.get_ident(), None)
    return frames


def _may_run(frame: FrameType) -> bool:
    """Whether a thread could be about to run user code, judged by its innermost function."""
    module = frame.f_globals.get("__name__") or ""
    return not str(module).startswith(_IDLE_FILES)


def _roots_of_running_backwards() -> list[Any]:
    """Roots given to a backward that another thread is running now."""
    roots: list[Any] = []
    for innermost in _other_frames().values():
        frame: FrameType | None = innermost
        while frame is not None:
            if frame.f_code is autograd.RUN_BACKWARD_CODE:
                roots.extend(autograd.roots_of_backward(frame))
            frame = frame.f_back
    return roots


def refuse_if_busy(place: dict[Any, int]) -> None:
    """Raise if another thread runs backward over one of these nodes.

    Raises:
        GraphBusyError: If so.
    """
    unvisited = _roots_of_running_backwards()
    seen: set[Any] = set()
    while unvisited:
        node = unvisited.pop()
        if node in place:
            raise GraphBusyError(
                "another thread is running backward() on this graph now. Backward frees saved "
                "tensors without a lock, so reading them at the same time could crash Python. "
                "Take the snapshot before that backward starts, or after it has returned: "
                "thread.join(); graph = gradviz.snapshot(loss)"
            )
        if node not in seen:
            seen.add(node)
            unvisited.extend(n for n, _ in node.next_functions if n is not None)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep other Python threads from starting work for the length of the block."""
    if not any(_may_run(frame) for frame in _other_frames().values()):
        yield
        return
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_LONG_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def let_waiting_threads_through(interval: float) -> None:
    """Give threads that wait for the GIL with the old interval the turn they have asked for."""
    if not any(_may_run(frame) for frame in _other_frames().values()):
        return
    end = time.perf_counter() + 2 * interval
    while time.perf_counter() < end:
        pass


def stretches(nodes: Sequence[Any], place: dict[Any, int]) -> Iterator[range]:
    """Ranges of places to read, each preceded by a look at the other threads.

    Raises:
        GraphBusyError: If another thread runs backward over one of these nodes.
    """
    interval = sys.getswitchinterval()
    with undisturbed():
        for start in range(0, len(nodes), STRETCH):
            let_waiting_threads_through(interval)
            refuse_if_busy(place)
            yield range(start, min(start + STRETCH, len(nodes)))
