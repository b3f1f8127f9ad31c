"""Tells which lines run and when functions of interest are entered and left.

NOTE [Tracing that changes no lifetime]
Up to Python 3.12 a trace function set with ``sys.settrace`` makes the interpreter copy the local
variables of every traced frame into a dictionary that lives as long as the frame: a tensor that
a function rebinds or deletes would live on, and with it memory and weak references would differ.
So lines are told by ``sys.monitoring`` where it exists (3.12), which touches no frame, and
before that by a trace function on the level of C, which gets the frame as it is.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Final, TypeAlias

from gradviz.capture import autograd
from gradviz.model import RecordingError


@dataclass(frozen=True)
class Watch:
    """What to call when a function is entered, and when it is left with its value."""

    entered: Callable[[FrameType], None]
    left: Callable[[FrameType, Any, bool], None]
    """Frame, returned value, and whether it is known."""
    rests: bool = False
    """Whether nothing is told while the function runs."""


@dataclass(frozen=True)
class Role:
    """What a code object is to the recording."""

    has_lines: bool = False
    """Whether its lines are told."""
    watch: Watch | None = None


NO_ROLE: Final = Role()


@dataclass(frozen=True)
class Listener:
    """Who is told."""

    role_of: Callable[[CodeType], Role]
    """What a code object is to the recording; asked once per code object."""
    line: Callable[[FrameType, int], None]
    """A line is about to run."""
    line_frame_left: Callable[[FrameType, bool, Any], None]
    """A frame whose lines are told is left; whether by an exception, else with which value."""
    line_raised: Callable[[FrameType, Any], None]
    """A line of such a frame has raised: the exception or its class."""
    clean: Callable[[Any], None]
    """Takes the recorder out of a traceback that a frame is about to see."""
    failed: Callable[[BaseException], None]
    """A bug in one of the above."""


class _Tracer:
    """What both ways of tracing share."""

    def __init__(self, listener: Listener, first: FrameType | None) -> None:
        self.listener = listener
        self.first = first
        self.thread = threading.get_ident()
        self.roles: dict[CodeType, Role] = {}
        self.resting: FrameType | None = None
        """Frame that must return before anything is told again."""

    def role(self, code: CodeType) -> Role:
        """Role of a code object, asked for once."""
        try:
            return self.roles[code]
        except KeyError:
            found = self.roles[code] = self.listener.role_of(code)
            return found

    def is_line_frame(self, frame: FrameType) -> bool:
        """Whether the lines of a frame are told."""
        return frame is self.first or self.role(frame.f_code).has_lines


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


class FrameTracer(_Tracer):
    """Tracing on the level of C, for Python 3.10 and 3.11."""

    def __init__(self, listener: Listener, first: FrameType | None) -> None:
        super().__init__(listener, first)
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
        self.listener.failed(RecursionError())

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
            self.listener.failed(error)
        return 0

    def _tell(self, frame: FrameType, role: Role, what: int, argument: int | None) -> None:
        has_lines = role.has_lines or frame is self.first
        watch = role.watch
        if what == _LINE:
            if has_lines:
                with autograd.unseen():
                    self.listener.line(frame, frame.f_lineno)
        elif what == _CALL:
            frame.f_trace_lines = has_lines
            if watch is not None:
                watch.entered(frame)
                if watch.rests:
                    self.resting = frame
        elif what == _RETURN:
            self.resting = None
            if watch is not None:
                watch.left(frame, _object(argument), argument is not None)
            if has_lines:
                with autograd.unseen():
                    self.listener.line_frame_left(frame, argument is None, _object(argument))

    def _raised(self, frame: FrameType, role: Role, kind: Any, error: Any, tb: Any) -> None:
        self.listener.clean(tb)
        is_end = isinstance(kind, type) and issubclass(kind, _ENDS)
        if (role.has_lines or frame is self.first) and not is_end:
            with autograd.unseen():
                self.listener.line_raised(frame, kind if error is None else error)


_set_trace: Final[Any] = ctypes.pythonapi.PyEval_SetTrace
_set_trace.argtypes = [_Hook, ctypes.py_object]
_set_trace.restype = None


def _object(address: int | None) -> Any:
    return None if address is None else ctypes.cast(address, ctypes.py_object).value


class MonitoringTracer(_Tracer):
    """Tracing by ``sys.monitoring``, from Python 3.12."""

    _TOOLS: Final = (4, 3, 5, 2)

    def __init__(self, listener: Listener, first: FrameType | None) -> None:
        super().__init__(listener, first)
        self._tool = -1
        self._codes: set[CodeType] = set()

    def start(self) -> None:
        """Begin to tell.

        Raises:
            RecordingError: If every tool number of ``sys.monitoring`` is taken.
        """
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
        for tool in self._TOOLS:
            if monitoring.get_tool(tool) is None:
                break
        else:
            raise RecordingError(
                "debuggers and profilers use all places that sys.monitoring has for them, so "
                "lines cannot be recorded: end one of them, then record again"
            )
        monitoring.use_tool_id(tool, "gradviz")
        self._tool = tool
        events = monitoring.events
        callbacks: dict[int, Any] = {
            events.PY_START: self._started,
            events.LINE: self._line,
            events.PY_RETURN: self._returned,
            events.PY_UNWIND: self._unwound,
            events.EXCEPTION_HANDLED: self._handled,
        }
        for event, callback in callbacks.items():
            monitoring.register_callback(tool, event, callback)
        monitoring.restart_events()
        monitoring.set_events(tool, events.PY_START | events.PY_UNWIND | events.EXCEPTION_HANDLED)
        if self.first is not None:
            self._add(self.first.f_code, events.LINE | events.PY_RETURN)
        running: FrameType | None = sys._getframe()
        while running is not None:  # what runs already is not told to have started
            if self.role(running.f_code).has_lines:
                self._add(running.f_code, events.LINE | events.PY_RETURN)
            running = running.f_back

    def stop(self) -> None:
        """Tell nothing any more."""
        if self._tool < 0:
            return
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
        monitoring.set_events(self._tool, 0)
        for code in self._codes:
            monitoring.set_local_events(self._tool, code, 0)
        for event in ("PY_START", "LINE", "PY_RETURN", "PY_UNWIND", "EXCEPTION_HANDLED"):
            monitoring.register_callback(self._tool, getattr(monitoring.events, event), None)
        monitoring.free_tool_id(self._tool)
        self._tool, self.first = -1, None

    def pause(self) -> None:
        """Code that is of no interest costs nothing here."""

    def resume(self) -> None:
        """Nothing was paused."""

    def _add(self, code: CodeType, events: int) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
        self._codes.add(code)
        monitoring.set_local_events(self._tool, code, events)

    def _guarded(self, tell: Callable[[], None]) -> None:
        if threading.get_ident() != self.thread:
            return
        try:
            with autograd.unseen():
                tell()
        except BaseException as error:
            self.listener.failed(error)

    @autograd.never_compiled
    def _started(self, code: CodeType, offset: int) -> Any:
        if self.resting is not None or threading.get_ident() != self.thread:
            return None
        role = self.role(code)
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
        if role == NO_ROLE:
            return monitoring.DISABLE
        events = monitoring.events
        if code not in self._codes:
            lines = events.LINE if role.has_lines else 0
            self._add(code, lines | events.PY_RETURN)
        watch = role.watch
        if watch is not None:
            frame = sys._getframe(1)
            self._guarded(lambda: watch.entered(frame))
            if watch.rests:
                self.resting = frame
        return None

    @autograd.never_compiled
    def _line(self, code: CodeType, line: int) -> None:
        if self.resting is not None:
            return
        frame = sys._getframe(1)
        if self.is_line_frame(frame):
            self._guarded(lambda: self.listener.line(frame, line))

    @autograd.never_compiled
    def _returned(self, code: CodeType, offset: int, value: Any) -> None:
        frame = sys._getframe(1)
        if self._rests(frame):
            return
        self._guarded(lambda: self._left(frame, value, True))

    @autograd.never_compiled
    def _unwound(self, code: CodeType, offset: int, error: BaseException) -> None:
        frame = sys._getframe(1)
        if code in self._codes and not self._rests(frame):
            self._guarded(lambda: self._left(frame, None, False))

    @autograd.never_compiled
    def _rests(self, frame: FrameType) -> bool:
        """Whether the event of this frame's end is not to be told."""
        if self.resting is frame:
            self.resting = None
        return self.resting is not None

    def _left(self, frame: FrameType, value: Any, is_known: bool) -> None:
        watch = self.role(frame.f_code).watch
        if watch is not None:
            watch.left(frame, value, is_known)
        if self.is_line_frame(frame):
            self.listener.line_frame_left(frame, not is_known, value)

    @autograd.never_compiled
    def _handled(self, code: CodeType, offset: int, error: BaseException) -> None:
        if self.resting is not None:
            return
        frame = sys._getframe(1)
        self._guarded(lambda: self._clean(frame, error))

    def _clean(self, frame: FrameType, error: BaseException) -> None:
        self.listener.clean(error.__traceback__)
        if self.is_line_frame(frame):
            self.listener.line_raised(frame, error)


Tracer: TypeAlias = "FrameTracer | MonitoringTracer"


def make_tracer(listener: Listener, first: FrameType | None) -> Tracer:
    """The way of tracing that this Python has."""
    if sys.version_info >= (3, 12):
        return MonitoringTracer(listener, first)
    return FrameTracer(listener, first)
