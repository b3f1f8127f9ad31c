"""The trace function of a debugger, of coverage or of the user's, beside the recorder's.

NOTE [Two trace functions]
Up to Python 3.11 a thread has one place for a trace function. The recorder's hook takes it, and
passes every event on to what stood there, by the rules of ``sys.settrace``: a call goes to the
trace function of the thread, anything else to the frame's own ``f_trace``, and what either
returns becomes the frame's; variables that it changes are changed; ``f_trace_lines`` and
``f_trace_opcodes`` count. Three things need more than that:

- ``sys.settrace`` inside the recorded code would take the place from the hook, and the lines
  until the next call of torch would not be told. So the name ``sys.settrace`` stands for
  :meth:`OtherTracer.set` meanwhile, which changes to whom events are passed on.
  ``sys.gettrace()`` answers as without a recording, since the hook has that object beside it.
- An exception cannot leave a function that ``ctypes`` calls. What a trace function raises, as
  ``quit`` in a debugger does, is raised by a real trace function at the next instruction instead.
- Trace functions in C, such as that of coverage, put themselves into the place when they are
  called; the hook takes it back.

The other is told nothing of the recorder's own frames, so a debugger does not step into them. One
in C, which is told of returns whether or not it was told of the call, and counts both, is told of
those that are still to return when the recording ends.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType, FunctionType, MethodType
from typing import Any, Final

from gradviz.capture.recorder import frames
from gradviz.capture.recorder.signals import is_at_work
from gradviz.capture.stacks import stack_of, traceback_entries
from gradviz.capture.user_code import runs_user_code

CALL: Final = 0
RETURN: Final = 3
_LINE: Final = 2
_EVENTS: Final = (
    "call",
    "exception",
    "line",
    "return",
    "c_call",
    "c_exception",
    "c_return",
    "opcode",
)
"""Names of events, by the numbers that a trace function on the level of C gets."""

settrace: Final = sys.settrace
"""Python's own."""
_to_fast: Final = ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.c_int)(
    ("PyFrame_LocalsToFast", ctypes.pythonapi)
)


class OtherTracer:
    """Whom events are passed on to.

    Args:
        changed: Is called when the recorded code has set another trace function.
        ends: Whether a frame is about to end the recording.
    """

    def __init__(self, changed: Callable[[], None], ends: Callable[[FrameType], bool]) -> None:
        self.function: Any = None
        """What ``sys.gettrace()`` gives; ``None`` if nobody else traces."""
        self.has_traced = False
        """Whether anybody has traced at all, so that events may have gone past the recorder."""
        self.is_raising = False
        """Whether an exception of a trace function is about to be raised."""
        self._changed = changed
        self._ends = ends
        self._thread = threading.get_ident()
        self._standing_in: Any = self.set
        self._without_lines: set[int] = set()
        """Frames that are followed and whose lines the other does not want, by address."""
        self._known: set[int] = set()
        """Frames of the recorder's that the other was told of before it began, by address."""

    def start(self) -> None:
        """Stand in for ``sys.settrace``."""
        self.function = sys.gettrace()
        self.has_traced = self.function is not None
        self._known = {
            id(frame) for frame in stack_of(sys._getframe()) if frame.f_trace is not None
        }
        sys.settrace = self._standing_in

    def stop(self) -> None:
        """Give the place back, and ``sys.settrace`` unless somebody else stands in for it."""
        function = self.function
        self.function, self._changed = None, _nothing
        if sys.settrace is self._standing_in:
            sys.settrace = settrace
        stack = list(stack_of(sys._getframe()))
        for frame in stack:
            if id(frame) in self._without_lines:
                frame.f_trace_lines = False
        self._without_lines.clear()
        if self.is_raising:
            return
        settrace(function)
        if function is not None and not _is_python(function):
            for frame in reversed(stack):  # it will be told that they return
                if frames.is_own(frame.f_code) and id(frame) not in self._known:
                    function(frame, "call", None)

    def set(self, function: Any) -> None:
        """What ``sys.settrace(function)`` of the recorded code does."""
        if threading.get_ident() != self._thread or self._changed is _nothing:
            settrace(function)
        elif not self.is_raising:
            self.replaced(function)
            self._changed()

    def replaced(self, function: Any) -> None:
        """Another function traces from now on, frames that run already among others."""
        if function is not None and self.function is None:
            for frame in stack_of(sys._getframe()):
                frame.f_trace_lines = True
        self.function = function
        self.has_traced = self.has_traced or function is not None

    def needs_lines(self, frame: FrameType) -> None:
        """Have the interpreter tell the lines of a followed frame, if only to the recorder."""
        if not frame.f_trace_lines:
            self._without_lines.add(id(frame))
            frame.f_trace_lines = True

    @runs_user_code
    def pass_on(self, frame: FrameType, what: int, argument: Any) -> None:
        """Call the trace function that an event is for, if there is one."""
        if what == CALL:
            self._without_lines.discard(id(frame))
        callback = self.function if what == CALL else frame.f_trace
        if callback is None or (what == _LINE and id(frame) in self._without_lines):
            return
        if id(frame) not in self._known and frames.is_own(frame.f_code):
            return
        try:
            local = _called(callback, frame, _EVENTS[what], argument)
        except BaseException as error:
            self._raise_soon(frame, what, error)
        else:
            if local is not None:
                frame.f_trace = local
        if what == RETURN:
            self._known.discard(id(frame))

    def _raise_soon(self, frame: FrameType, what: int, error: BaseException) -> None:
        """Have a trace function raise at the next instruction that is not the recorder's."""
        entries = traceback_entries(error.__traceback__)
        traceback = next((at for at in entries if not frames.is_own(at.tb_frame.f_code)), None)
        stack = stack_of(frame.f_back if what == RETURN else frame)
        target = next((one for one in stack if not frames.is_own(one.f_code)), None)
        had_opcodes = target is not None and target.f_trace_opcodes
        raiser = partial(self._raise, error.with_traceback(traceback), target, had_opcodes)
        if target is not None:
            # With the block's __exit__ still to come, it is raised at the next line.
            is_now = had_opcodes or not self._ends(target)
            target.f_trace, target.f_trace_opcodes = raiser, is_now
        self.function, self.is_raising = None, True
        settrace(raiser)

    def _raise(
        self,
        error: BaseException,
        target: FrameType | None,
        had_opcodes: bool,
        frame: FrameType,
        event: str,
        argument: Any,
    ) -> None:
        """Raise what the other's trace function has raised; Python then traces no more."""
        if not self.is_raising or is_at_work(frame):
            return
        self.is_raising = False
        if target is not None:
            target.f_trace, target.f_trace_opcodes = None, had_opcodes
        raise error


@runs_user_code
def _called(callback: Any, frame: FrameType, event: str, argument: Any) -> Any:
    """Call a trace function as the interpreter does, which lets it change variables."""
    if not _is_python(callback):
        return callback(frame, event, argument)
    frame.f_locals  # noqa: B018  the variables are copied into it
    try:
        return callback(frame, event, argument)
    finally:
        _to_fast(frame, 1)


def _is_python(callback: Any) -> bool:
    """Whether a trace function is written in Python."""
    if isinstance(callback, partial):
        return _is_python(callback.func)
    method = type(callback).__call__
    return isinstance(callback, (FunctionType, MethodType)) or isinstance(method, FunctionType)


def _nothing() -> None:
    pass
