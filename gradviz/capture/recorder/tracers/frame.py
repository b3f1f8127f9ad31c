"""Tells of lines by a trace function on the level of C: NOTE [Tracing that changes no lifetime]."""

from __future__ import annotations

import ctypes
import sys
from types import FrameType
from typing import Any, Final

from gradviz.capture import autograd
from gradviz.capture.recorder import frames
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.recorder.observers.observer import Observers
from gradviz.capture.recorder.tracers.base import NO_ROLE, BaseTracer, CodeRole

_ENDS: Final = (StopIteration, StopAsyncIteration, GeneratorExit)
"""Exceptions by which loops end; a line that gets one has not failed."""
_CALL: Final = 0
_EXCEPTION: Final = 1
_LINE: Final = 2
_RETURN: Final = 3
_HEADROOM: Final = 100
"""Frames that are kept for the recorder's own code."""
_Hook: Final = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.c_void_p
)


class FrameTracer(BaseTracer):
    """Tracing on the level of C, for Python 3.11."""

    def __init__(self, lines: LineEvents, observers: Observers, first: FrameType | None) -> None:
        super().__init__(lines, observers, first)
        self._before: Any = None
        self._is_on = False
        self._is_deep = False
        self._depth = 0
        # The interpreter keeps only a pointer to it.
        self._hook = _Hook(self._told)

    def start(self) -> None:
        """Begin to tell; a debugger's or a profiler's trace function rests until the end."""
        self._before = sys.gettrace()
        self._is_on = True
        self._count_frames()
        _set_trace(self._hook, self)

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Code that puts back what ``sys.gettrace`` gave it has this called; tell on as before."""
        if self._is_on:
            _set_trace(self._hook, self)

    def _count_frames(self) -> None:
        frame: FrameType | None = sys._getframe()
        self._depth = 0
        while frame is not None:
            self._depth, frame = self._depth + 1, frame.f_back

    def _rest_in_the_depth(self) -> None:
        """Stop telling near the end of the stack, where the user's code is about to fail.

        There this trace function could not run, and the interpreter would lose the user's
        RecursionError. It goes on when the recorder is called next, further up.
        """
        self._is_deep = True
        sys.settrace(None)
        self.observers.failed(RecursionError())

    def stop(self) -> None:
        """Tell nothing any more."""
        self._is_on = False
        sys.settrace(self._before)
        self._before = self.first = None

    def pause(self) -> None:
        """Tell nothing until :meth:`resume`, at next to no cost: the recorder's own code runs."""
        if self._is_on:
            sys.settrace(None)

    def resume(self) -> None:
        """Tell again."""
        if self._is_deep:
            self._count_frames()
            self._is_deep = self._depth > sys.getrecursionlimit() - 2 * _HEADROOM
        if self._is_on and not self._is_deep:
            _set_trace(self._hook, self)

    @autograd.never_compiled
    def _told(self, _: object, frame: FrameType, what: int, argument: int | None) -> int:
        if self.resting is not None and (what != _RETURN or frame is not self.resting):
            return 0
        # An exception cannot leave this function: ctypes would print and drop it.
        try:
            if what == _CALL:
                self._depth += 1
                if self._depth > sys.getrecursionlimit() - _HEADROOM:
                    self._rest_in_the_depth()
                    return 0
            elif what == _RETURN:
                self._depth -= 1
            role = self.roles.get(frame.f_code)
            if role is None:
                role = self.role(frame.f_code)
            if role is NO_ROLE and what != _EXCEPTION and frame is not self.first:
                if what == _CALL:
                    frame.f_trace_lines = False
            elif what == _EXCEPTION and argument is not None:
                self._raised(frame, role, *_object(argument))
            else:
                self._tell(frame, role, what, argument)
        except BaseException as error:
            self.observers.failed(error)
        return 0

    def _tell(self, frame: FrameType, role: CodeRole, what: int, argument: int | None) -> None:
        has_lines = role.has_lines or frame is self.first
        watcher = role.watcher
        if what == _LINE:
            if has_lines:
                with autograd.unseen():
                    self.lines.line_event(frame, frame.f_lineno)
        elif what == _CALL:
            frame.f_trace_lines = has_lines
            if watcher is not None:
                watcher.entered(frame)
                if watcher.rests:
                    self.resting = frame
        elif what == _RETURN:
            self.resting = None
            if watcher is not None:
                watcher.left(frame, _object(argument), argument is not None)
            if has_lines:
                with autograd.unseen():
                    self.lines.left(frame, argument is None, _object(argument))

    def _raised(self, frame: FrameType, role: CodeRole, kind: Any, error: Any, tb: Any) -> None:
        frames.clean(tb)
        is_end = isinstance(kind, type) and issubclass(kind, _ENDS)
        if (role.has_lines or frame is self.first) and not is_end:
            with autograd.unseen():
                self.lines.raised(frame, kind if error is None else error)


_set_trace: Final[Any] = ctypes.pythonapi.PyEval_SetTrace
_set_trace.argtypes = [_Hook, ctypes.py_object]
_set_trace.restype = None


def _object(address: int | None) -> Any:
    return None if address is None else ctypes.cast(address, ctypes.py_object).value
