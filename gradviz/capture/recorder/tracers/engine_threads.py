"""Puts a trace function into threads of torch's engine, for as long as a backward runs.

Up to Python 3.11 every thread has a trace function of its own. Those of the engine live as long as
the process, and what runs first in one may be a hook of the user's. So the function is put into
them by the thread that calls backward, before they begin, and is taken out afterwards: into all
threads that Python has not started and that have none. In those that do not work for the recording
it does nothing.

NOTE [A signal while another thread is traced]
Python 3.11 begins a traced function anew as long as a signal waits to be handled. Only the main
thread handles signals, and that waits for the engine: both would wait for ever. So while the
backward runs a thread looks now and then whether a traced one does not get beyond the beginning of
a function, and then takes the trace functions out.

NOTE [No thread ends while the list is read]
Threads that torch or other libraries start for a moment take their state out of the interpreter's
list when they end, and free it. They hold the interpreter's lock for that, and Python hands it over
between two instructions of its own only. So the list is followed, and what is found is read or
changed, by functions of C alone, which ``list`` calls one after the other.
"""

from __future__ import annotations

import _thread
import ctypes
import struct
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from itertools import accumulate, chain, compress, repeat, takewhile
from operator import truth
from types import FrameType
from typing import Final, TypeAlias

from gradviz.capture import autograd
from gradviz.capture.recorder.frames import is_at_beginning
from gradviz.capture.recorder.tracers.passed_on import settrace
from gradviz.model.collector import no_collection

TraceHook: Final = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.py_object, ctypes.c_int, ctypes.c_void_p
)
"""Type of a trace function on the level of C."""
set_trace: Final = ctypes.PYFUNCTYPE(None, TraceHook, ctypes.py_object)(
    ("PyEval_SetTrace", ctypes.pythonapi)
)
"""Make a function of that type the trace function of this thread."""
_set_trace_of: Final = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)(("_PyEval_SetTrace", ctypes.pythonapi))
_current: Final = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThreadState_Get", ctypes.pythonapi))
_interpreter: Final = ctypes.PYFUNCTYPE(ctypes.c_void_p)(
    ("PyInterpreterState_Get", ctypes.pythonapi)
)
_first: Final = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(
    ("PyInterpreterState_ThreadHead", ctypes.pythonapi)
)
_next: Final = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(
    ("PyThreadState_Next", ctypes.pythonapi)
)
_copied: Final = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)(
    ("PyBytes_FromStringAndSize", ctypes.pythonapi)
)
_WORDS: Final = 24
"""How many words of a thread's state are searched for what is known to be among them."""
_SIZE: Final = _WORDS * ctypes.sizeof(ctypes.c_void_p)
_READY_AT: Final = 3 * ctypes.sizeof(ctypes.c_void_p)
"""Where a thread's state says, after three pointers, that the thread has filled it in."""
_READY: Final = struct.pack("i", 1)
Words: TypeAlias = list[int | None]
_PATIENCE: Final = 1.0
"""Seconds that are waited for threads of the engine to begin."""
_LOOK: Final = 0.05
"""Seconds after which it is looked again whether traced threads get on."""


class Stack:
    """How much room the stack of the thread that makes this has left."""

    def __init__(self) -> None:
        # The state of a thread has three pointers, two numbers, what remains, and the limit.
        state = _current() + 3 * ctypes.sizeof(ctypes.c_void_p) + 2 * ctypes.sizeof(ctypes.c_int)
        self.remaining = ctypes.c_int.from_address(state)
        """How many calls may still be nested, to be read without a call of Python."""
        limit = ctypes.c_int.from_address(state + ctypes.sizeof(ctypes.c_int))
        if limit.value != sys.getrecursionlimit():
            raise RuntimeError("the state of a thread is not that of Python 3.11")

    @property
    def room(self) -> int:
        """How many calls may still be nested; those of functions in C count too."""
        return self.remaining.value


class EngineThreads:
    """Traces what threads of the engine run for the recording.

    Args:
        told: Is called with the frame, the event and its argument.
    """

    def __init__(self, told: Callable[[FrameType, int, int | None], None]) -> None:
        self._tell = told
        # The interpreter keeps only a pointer to it.
        self._hook = TraceHook(self._told)
        self._is_on = False
        self._runs: _thread.LockType | None = None
        """Is held while a backward runs that traced threads work for."""

    def begin(self) -> None:
        """Put the function into them; to be called in a thread that traces nothing now."""
        self._is_on = True
        expected = autograd.engine_threads()
        if not expected:
            return
        until = time.monotonic() + _PATIENCE
        found = self._find()
        if len(found) < expected:
            autograd.start_engine_threads()
            while len(found) < expected and time.monotonic() < until:
                time.sleep(0.0001)  # they wait for the interpreter to make their states
                found = self._find()
        while found and None in found.values() and time.monotonic() < until:
            _trace([state for state, traces in found.items() if traces is None], self._address)
            found = self._find()
        if found:
            self._runs = _thread.allocate_lock()
            self._runs.acquire()
            _thread.start_new_thread(self._watch, (self._runs,))

    def end(self) -> None:
        """Take it out of them."""
        self._is_on = False
        if self._runs is not None:
            self._runs.release()
            self._runs = None
        if autograd.engine_threads():
            self._take_out()

    def _take_out(self) -> None:
        own = self._address
        while traced := [state for state, traces in self._find().items() if traces == own]:
            _trace(traced, None)

    def _watch(self, runs: _thread.LockType) -> None:
        """See NOTE [A signal while another thread is traced]."""
        before: set[tuple[int, int]] = set()
        while not runs.acquire(timeout=_LOOK):
            with no_collection():  # NOTE [Frames of all threads]
                frames = sys._current_frames().items()
            now = {
                (ident, id(frame))
                for ident, frame in frames
                if is_at_beginning(frame.f_code, frame.f_lasti)
            }
            del frames
            if before & now:
                self._is_on = False
                self._take_out()
                return
            before = now

    def pause(self) -> None:
        """Tell nothing of this thread until :meth:`resume`."""
        if self._is_on and sys.gettrace() is None:
            settrace(None)

    def resume(self) -> None:
        """Tell again of this thread."""
        if self._is_on and sys.gettrace() is None:
            set_trace(self._hook, ctypes.py_object())

    @property
    def _address(self) -> int | None:
        return ctypes.cast(self._hook, ctypes.c_void_p).value

    @autograd.never_compiled
    def _told(self, _: object, frame: FrameType, what: int, argument: int | None) -> int:
        if self._is_on and autograd.in_recording():
            self._tell(frame, what, argument)
        return 0

    def _find(self) -> dict[int, int | None]:
        """Threads that Python has not started: the state of each, and what traces in it."""
        own = _current()
        there = _words(_copied(own, _SIZE))
        is_traced = sys.gettrace() is not None
        if is_traced or threading.get_ident() not in there:
            return {}
        ident = there.index(threading.get_ident())
        set_trace(self._hook, ctypes.py_object())
        there = _words(_copied(own, _SIZE))
        settrace(None)
        if self._address not in there:
            return {}
        traces = there.index(self._address)
        started = {t.ident for t in threading.enumerate() if not _is_dummy(t)}
        return {
            state: words[traces]
            for state, words in _words_of_all().items()
            if state != own and words[ident] not in started
        }


def _is_dummy(thread: threading.Thread) -> bool:
    """Whether a thread has only been met by :mod:`threading`, as those of the engine in a hook."""
    return thread.name.startswith("Dummy-")


def _states() -> Iterator[int]:
    """The states of all threads. See NOTE [No thread ends while the list is read]."""
    first = map(_first, (_interpreter(),))
    return takewhile(truth, accumulate(chain(first, repeat(0)), _next))


def _words_of_all() -> dict[int, Words]:
    """What the states of all threads begin with, at one moment."""
    own = _current()
    while True:
        with no_collection():  # it might run Python's code
            copies = list(zip(_states(), map(_copied, _states(), repeat(_SIZE))))
        # A thread that begins is put before the others, and for a moment leads to none of them.
        if any(state == own for state, _ in copies):
            ready = [one for one in copies if one[1].startswith(_READY, _READY_AT)]
            return {state: _words(copy) for state, copy in ready}


def _trace(states: Collection[int], function: int | None) -> None:
    """Make it the trace function of those threads that still exist, as far as the list is whole."""
    fields = map(_READY_AT.__add__, _states())
    ready = compress(_states(), map(_READY.__eq__, map(_copied, fields, repeat(len(_READY)))))
    there = filter(frozenset(states).__contains__, ready)
    with no_collection():
        list(map(_set_trace_of, there, repeat(function), repeat(None)))


def _words(state: bytes) -> Words:
    return [word or None for word in struct.unpack(f"{_WORDS}P", state)]
