"""Free deep graphs safely after they were looked at.

NOTE [Deep graphs]
Since torch 2.13 a node that Python has touched keeps its Python wrapper for life, and dropping
a chain of such nodes recurses ``THPCppFunction_dealloc -> ~Node -> decref -> ...`` with about
208 bytes of C stack per level and no guard: with an 8 MB stack the process dies with a
segmentation fault when a chain of about 41,000 nodes is freed, with 512 KB at 2,300. Touching
``grad_fn`` or ``next_functions`` from any Python code is enough; torch 2.12 and older free
iteratively and are not concerned. Looking must not crash the program later, so:

* Every walk over more than ``SMALL`` nodes leaves *breaks* in the graph. A break is an object
  in ``node.metadata`` (torch's own per-node dictionary, the one anomaly mode uses) that holds
  the node's successors. It is set on each node that has a successor outside its block of
  ``BLOCK`` sequence numbers. Along an edge sequence numbers fall, and an edge where they do not
  gets a break too, so no path runs past more than ``BLOCK`` nodes without meeting one; this
  needs no depth computation and repeated walks set the same breaks.
* When a node dies, its break's ``__del__`` runs first. While the present cascade is shallow for
  the stack of the thread (a quarter of it at most), the break lets go and nothing differs from
  a graph that was not looked at. Beyond that, it keeps the successors, which ends the
  recursion, and asks the interpreter (``Py_AddPendingCall``) to drop them as soon as the
  running C call has returned. So the whole graph is gone before the next few bytecodes.

No stack limit is changed and no node is left out, in any thread: in a thread other than the
main one the rest is dropped when the main thread next runs Python code, or when that thread
frees its next deep graph. The alternative, raising ``RLIMIT_STACK``, is inherited by child
processes, does nothing for threads, and depends on the room below the stack.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Sequence
from typing import Any, Final

from gradviz.capture import autograd

SMALL: Final = 1_000
"""Graphs up to this many nodes are not touched: they are shallow for any stack."""
BLOCK: Final = 256
"""Longest run of nodes without a break."""
BYTES_PER_LEVEL: Final = 210
"""C stack used per node while a wrapped chain is freed (measured, torch 2.13 to 2.15)."""

_waiting: list[Any] = []
_cascade = threading.local()


def _stack_bytes() -> int:
    """Stack of the current thread, or the smallest that is likely."""
    if threading.current_thread() is not threading.main_thread() and threading.stack_size():
        return threading.stack_size()
    if not sys.platform.startswith("linux"):
        return 512 * 1024
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_STACK)
    return 8 << 20 if soft == resource.RLIM_INFINITY else min(soft, 8 << 20)


def _shallow_breaks() -> int:
    """How many breaks one cascade may pass before it has used a quarter of the stack."""
    known: int | None = getattr(_cascade, "limit", None)
    if known is None:
        known = _cascade.limit = _stack_bytes() // 4 // (BYTES_PER_LEVEL * BLOCK)
    return known


class _Break:
    """Holds the successors of a node; see NOTE [Deep graphs]."""

    __slots__ = ("successors",)

    def __init__(self, successors: Sequence[Any]) -> None:
        self.successors: Any = successors

    # The defaults keep what is needed alive while the interpreter shuts down.
    def __del__(
        self,
        waiting: list[Any] = _waiting,
        cascade: Any = _cascade,
        shallow: Any = _shallow_breaks,
        caller: Any = sys._getframe,
    ) -> None:
        frame = caller(1) if caller is not None else None
        place = (id(frame), None if frame is None else frame.f_lasti)
        del frame
        if getattr(cascade, "place", None) != place:
            cascade.place, cascade.passed = place, 0
            if waiting and threading.current_thread() is not threading.main_thread():
                _drop_waiting()
                cascade.place, cascade.passed = place, 0
        cascade.passed += 1
        if cascade.passed > shallow():
            waiting.append(self.successors)
            if len(waiting) == 1:
                _ask_for_a_call()
        self.successors = None


def _drop_waiting(_argument: object = None) -> int:
    """Drop what breaks have kept, piece by piece; each piece may add more."""
    while _waiting:
        _cascade.passed = 0
        piece = _waiting.pop()
        del piece
    _cascade.passed = 0
    return 0


_pending_call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_drop_waiting)


def _ask_for_a_call() -> None:
    """Have the interpreter call :func:`_drop_waiting` when the running C call has returned.

    A full queue is no harm: the pieces wait for the next break or the next snapshot.
    """
    ctypes.pythonapi.Py_AddPendingCall(_pending_call, None)


def make_safe_to_free(
    nodes: Sequence[Any], entries: Sequence[Sequence[tuple[int, int] | None]]
) -> None:
    """Leave breaks in a graph whose nodes have been touched; see NOTE [Deep graphs].

    Args:
        nodes: All nodes a walk has touched.
        entries: ``(place in nodes, output number)`` or ``None`` per entry of
            ``next_functions`` of each node; nodes that an interrupted walk has not expanded
            are missing at the end.

    Nothing is done for torch 2.12 and older, or up to ``SMALL`` nodes.
    """
    if _waiting:
        _drop_waiting()
    if not autograd.WRAPPERS_LIVE_AS_LONG_AS_NODES or len(nodes) <= SMALL:
        return
    number = list(map(autograd.sequence_nr, nodes))
    no_number = autograd.NO_SEQUENCE_NR
    for at, row in enumerate(entries):
        mine = number[at]
        for entry in row:
            if entry is None:
                continue
            theirs = number[entry[0]]
            if theirs == no_number:
                continue
            if theirs >= mine or theirs // BLOCK != mine // BLOCK:
                successors = [nodes[e[0]] for e in row if e is not None]
                autograd.keep_with_node(nodes[at], "gradviz", _Break, successors)
                break
