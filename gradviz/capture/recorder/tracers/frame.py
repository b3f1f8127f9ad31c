"""Tells of lines by a trace function on the level of C: NOTE [Tracing that changes no lifetime].

NOTE [What an event costs]
The interpreter calls the trace function when any function in Python begins and ends, those of
torch and of the recorder among them: many times per call of torch. Nearly all have no role, so
that is found out first, by one look into a dictionary.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from types import CodeType, FrameType
from typing import Any, Final

from gradviz.capture import autograd
from gradviz.capture.recorder import frames
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.recorder.observers.observer import Observers
from gradviz.capture.recorder.signals import arrived, at_work, is_at_work, send_again, waiting
from gradviz.capture.recorder.tracers.base import NO_ROLE, BaseTracer, CodeRole
from gradviz.capture.recorder.tracers.engine_threads import (
    EngineThreads,
    Stack,
    TraceHook,
    set_trace,
)
from gradviz.capture.recorder.tracers.passed_on import CALL, RETURN, OtherTracer, settrace
from gradviz.capture.stacks import stack_of
from gradviz.capture.user_code import runs_user_code

_ENDS: Final = (StopIteration, StopAsyncIteration, GeneratorExit)
"""Exceptions by which loops end; a line that gets one has not failed."""
_EXCEPTION: Final = 1
_LINE: Final = 2
_HEADROOM: Final = 100
"""Frames that are kept for the recorder's own code."""
_NOTHING: Final = ctypes.py_object()
"""No object, on the level of C."""
_at: Final = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(("Py_NewRef", ctypes.pythonapi))
"""The object at an address."""


def _object(address: int | None) -> Any:
    return None if address is None else _at(address)


class FrameTracer(BaseTracer):
    """Tracing on the level of C, for Python 3.11."""

    def __init__(self, lines: LineEvents, observers: Observers, first: FrameType | None) -> None:
        super().__init__(lines, observers, first)
        self._is_on = False
        self._is_in_place = False
        self._is_deep = False
        self._stack = Stack()
        self._remaining = self._stack.remaining
        self._idle: dict[int, CodeType] = {}
        """Code without a role, and NOTE [Cold code], by ``id()``."""
        self._other = OtherTracer(self._take_place, self._ends)
        # The interpreter keeps only a pointer to it.
        self._hook = TraceHook(self._told)
        self._engine_threads = EngineThreads(self._told_elsewhere)

    @staticmethod
    def has_room() -> bool:
        """Whether events can be passed on to what traces now, if anything does."""
        there = sys.gettrace()
        return there is None or callable(there)

    def start(self) -> None:
        """Begin to tell; a debugger's or coverage's trace function goes on."""
        self._other.start()
        self._is_on = True
        for frame in stack_of(sys._getframe(1)):
            if self.is_line_frame(frame):
                self._other.needs_lines(frame)
        # In this frame, of which the other was told that it began.
        other, self._is_in_place = self._other.function, True
        set_trace(self._hook, _NOTHING if other is None else other)

    def _take_place(self) -> None:
        other, self._is_in_place = self._other.function, True
        set_trace(self._hook, _NOTHING if other is None else other)

    def _leave_place(self, function: Any) -> None:
        self._is_in_place = False
        settrace(function)

    def _ends(self, frame: FrameType) -> bool:
        """Whether a frame has left the recorded block, but for its ``__exit__``."""
        return frame is self.first and not self.lines.sources[0].covers(frame.f_lineno)

    def _rest_in_the_depth(self) -> None:
        """Stop telling near the end of the stack, where the user's code is about to fail.

        There this trace function could not run, and the interpreter would lose the user's
        RecursionError. It goes on when the recorder is called next, further up.
        """
        self._is_deep = True
        self._leave_place(self._other.function)
        self.observers.failed(RecursionError())

    def stop(self) -> None:
        """Tell nothing any more."""
        self._is_on = self._is_in_place = False
        for frame in stack_of(sys._getframe(1)):
            if id(frame.f_code) in self.lines.cold:
                frame.f_trace_lines = True
        self._other.stop()
        self.first = None

    # Until pause() has left the place, and from when resume() has taken it, every call of a
    # function in Python is an event: so neither calls any.

    def pause(self) -> None:
        """Tell nothing until :meth:`resume`, at next to no cost: the recorder's own code runs."""
        if threading.get_ident() != self.thread:
            self._engine_threads.pause()
        elif self._is_in_place:
            there = sys.gettrace()
            settrace(None)
            self._is_in_place = False
            if there is not self._other.function:  # set on the level of C, past sys.settrace
                self._other.replaced(there)

    def resume(self) -> None:
        """Tell again."""
        if threading.get_ident() != self.thread:
            self._engine_threads.resume()
            return
        if self._is_deep:
            self._is_deep = self._stack.room < 2 * _HEADROOM
        other = self._other
        if self._is_on and not self._is_deep and not other.is_raising:
            self._is_in_place = True
            set_trace(self._hook, _NOTHING if other.function is None else other.function)

    def role_changed(self, code: CodeType) -> None:
        """As :meth:`BaseTracer.role_changed`."""
        super().role_changed(code)
        self._idle.clear()

    def backward_begins(self) -> None:
        """Tell of hooks in threads of the engine, too; to be called while paused."""
        self._engine_threads.begin()

    def backward_ended(self) -> None:
        """Take everything out of them; to be called while paused."""
        self._engine_threads.end()

    def called_from(self, frame: FrameType, is_read: bool = False) -> None:
        """Tell of the line if another trace function may have kept it from being told."""
        super().called_from(frame, is_read)
        if self._other.has_traced:
            with autograd.unseen():
                self.follow(frame)

    def _is_idle(self, frame: FrameType) -> None:
        if not self.is_of_block(frame):
            self._idle[id(frame.f_code)] = frame.f_code

    def warmed(self, frames: list[FrameType]) -> None:
        """As :meth:`BaseTracer.warmed`."""
        for frame in frames:
            self._idle.pop(id(frame.f_code), None)
            if self._other.function is None:  # else they are told already
                frame.f_trace_lines = True

    @autograd.never_compiled
    @runs_user_code
    def _told(self, _: object, frame: FrameType, what: int, argument: int | None) -> int:
        # NOTE [What an event costs]
        if id(frame.f_code) in self._idle and what != _EXCEPTION and not self._other.has_traced:
            if what != CALL:
                if not waiting:
                    return 0
            elif self._remaining.value >= _HEADROOM:
                frame.f_trace_lines = False
                return 0
            else:
                self._note(frame, what, argument)
        else:
            self._note(frame, what, argument)
            if self._other.function is not None:
                self._pass_on(frame, what, argument)
        if (
            waiting
            and what != CALL  # Python would begin the function anew
            and not is_at_work(frame.f_back if what == RETURN else frame)
        ):
            [*map(send_again, arrived())]
        return 0

    @runs_user_code
    def _pass_on(self, frame: FrameType, what: int, argument: int | None) -> None:
        other = self._other
        other.pass_on(frame, what, _object(argument))
        if other.is_raising:
            self._is_in_place = False
        else:
            if self.is_line_frame(frame):
                other.needs_lines(frame)
            if what == CALL and not self._is_deep:
                self._take_place()

    def _note(self, frame: FrameType, what: int, argument: int | None) -> None:
        if self.resting is not None and (what != RETURN or frame is not self.resting):
            return
        # An exception cannot leave this function: ctypes would print and drop it.
        try:
            if what == CALL and self._stack.room < _HEADROOM:
                self._rest_in_the_depth()
                return
            role = self.role(frame.f_code)
            if role is NO_ROLE and frame is not self.first:
                self._idle[id(frame.f_code)] = frame.f_code
            if what == CALL and (self._other.function is None or frame.f_trace is None):
                has_lines = role.has_lines or self._other.function is not None
                frame.f_trace_lines = has_lines or frame is self.first
            if role is NO_ROLE and what != _EXCEPTION and frame is not self.first:
                return
            if what == _EXCEPTION and argument is not None:
                self._raised(frame, role, *_object(argument))
            else:
                self._tell(frame, role, what, argument)
        except BaseException as error:
            self.observers.failed(error)

    def _told_elsewhere(self, frame: FrameType, what: int, argument: int | None) -> None:
        """An event in a thread of the engine, where only hooks are of interest, not lines."""
        if self.resting is not None and (what != RETURN or frame is not self.resting):
            return
        try:
            if what == CALL:
                frame.f_trace_lines = False
            role = self.role(frame.f_code)
            if role is not NO_ROLE and what in (CALL, RETURN):
                self._tell(frame, role, what, argument)
            elif what == _EXCEPTION and argument is not None:
                with at_work:
                    self._raised(frame, role, *_object(argument))
        except BaseException as error:
            self.observers.failed(error)

    def _tell(self, frame: FrameType, role: CodeRole, what: int, argument: int | None) -> None:
        has_lines = role.has_lines or frame is self.first
        watcher = role.watcher
        if what == _LINE:
            if has_lines:
                with autograd.unseen():
                    is_cold = self.line(frame, role, frame.f_lineno)
                if is_cold and self._other.function is None:
                    frame.f_trace_lines = False
                    self._is_idle(frame)
        elif what == CALL:
            if watcher is not None:
                with at_work:
                    watcher.entered(frame)
                    self.watched(frame)
                if watcher.rests:
                    self.resting = frame
        elif what == RETURN:
            self.resting = None
            if watcher is not None:
                with at_work:
                    watcher.left(frame, _object(argument), argument is not None)
                    self.watched(frame)
            if has_lines:
                with autograd.unseen():
                    if self.line_left(frame, role, argument is None, _object(argument)):
                        self._is_idle(frame)

    def _raised(self, frame: FrameType, role: CodeRole, kind: Any, error: Any, tb: Any) -> None:
        frames.clean(tb)
        is_end = isinstance(kind, type) and issubclass(kind, _ENDS)
        is_told = role.has_lines or frame is self.first
        if is_told and not is_end and id(frame.f_code) not in self.lines.cold:
            self.lines.raised(frame, kind if error is None else error)
