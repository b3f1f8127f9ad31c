"""Tells of lines by ``sys.monitoring``; see NOTE [Tracing that changes no lifetime]."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Final

from gradviz.capture import autograd
from gradviz.capture.recorder import frames
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.recorder.observers.observer import Observers
from gradviz.capture.recorder.signals import at_work
from gradviz.capture.recorder.tracers.base import NO_ROLE, BaseTracer
from gradviz.capture.stacks import stack_of

monitoring: Final[Any] = getattr(sys, "monitoring", None)
"""``sys.monitoring``, which Python has since 3.12."""


class MonitoringTracer(BaseTracer):
    """Tracing by ``sys.monitoring``, from Python 3.12."""

    _TOOLS: Final = (4, 3, 5, 2)

    def __init__(self, lines: LineEvents, observers: Observers, first: FrameType | None) -> None:
        super().__init__(lines, observers, first)
        self._tool = -1
        self._codes: set[CodeType] = set()
        self._returned_from: FrameType | None = None
        """Frame whose return has been told, and that may yet raise instead: a signal came."""

    @classmethod
    def has_room(cls) -> bool:
        """Whether ``sys.monitoring`` has a tool number that nobody uses."""
        return None in map(monitoring.get_tool, cls._TOOLS)

    def start(self) -> None:
        """Begin to tell."""
        tool = next(tool for tool in self._TOOLS if monitoring.get_tool(tool) is None)
        monitoring.use_tool_id(tool, "gradviz")
        self._tool = tool
        for event, callback in self._callbacks().items():
            monitoring.register_callback(tool, event, callback)
        monitoring.restart_events()
        events = monitoring.events
        begins = events.PY_START | events.PY_RESUME
        monitoring.set_events(tool, begins | events.PY_UNWIND | events.EXCEPTION_HANDLED)
        if self.first is not None:
            self._add(self.first.f_code, has_lines=True)
        for running in stack_of(sys._getframe()):  # what runs already is not told to have started
            if self.role(running.f_code).has_lines:
                self._add(running.f_code, has_lines=True)

    def stop(self) -> None:
        """Tell nothing any more."""
        if self._tool < 0:
            return
        monitoring.set_events(self._tool, 0)
        for code in self._codes:
            monitoring.set_local_events(self._tool, code, 0)
        for event in self._callbacks():
            monitoring.register_callback(self._tool, event, None)
        monitoring.free_tool_id(self._tool)
        self._tool, self.first, self._returned_from = -1, None, None

    def pause(self) -> None:
        """Code that is of no interest costs nothing here."""

    def resume(self) -> None:
        """Nothing was paused."""

    def role_changed(self, code: CodeType) -> None:
        """As :meth:`BaseTracer.role_changed`; that it begins may be told no more."""
        super().role_changed(code)
        monitoring.restart_events()

    def _callbacks(self) -> dict[int, Any]:
        """Who is told of each event; a generator that yields is left, and entered again later."""
        events = monitoring.events
        return {
            events.PY_START: self._started,
            events.PY_RESUME: self._started,
            events.LINE: self._line,
            events.PY_RETURN: self._returned,
            events.PY_YIELD: self._returned,
            events.PY_UNWIND: self._unwound,
            events.EXCEPTION_HANDLED: self._handled,
        }

    def _add(self, code: CodeType, has_lines: bool) -> None:
        events = monitoring.events
        self._codes.add(code)
        lines = events.LINE if has_lines else 0
        monitoring.set_local_events(self._tool, code, lines | events.PY_RETURN | events.PY_YIELD)

    def _guarded(self, tell: Callable[[], None]) -> None:
        if not self.is_observed:
            return
        with at_work:
            try:
                with autograd.unseen():
                    tell()
            except BaseException as error:
                self.observers.failed(error)

    @autograd.never_compiled
    def _started(self, code: CodeType, offset: int) -> Any:
        if not self.is_observed or self.resting is not None:
            return None
        role = self.role(code)
        if role == NO_ROLE or id(code) in self.lines.cold:
            return monitoring.DISABLE
        frame = sys._getframe(1)
        with at_work:
            if code not in self._codes:
                self._add(code, role.has_lines)
            watcher = role.watcher
            if watcher is not None:
                self._guarded(lambda: watcher.entered(frame))
                self._guarded(lambda: self.watched(frame))
                if watcher.rests:
                    self.resting = frame
        return None

    @autograd.never_compiled
    def _line(self, code: CodeType, line: int) -> None:
        if self.resting is not None:
            return
        frame = sys._getframe(1)
        if not self.is_line_frame(frame):
            return
        try:
            self._guarded(lambda: self._line_runs(frame, line))
        except BaseException as error:  # of a handler of a signal
            if frame is self.first and not self.lines.sources[0].covers(line):
                self.left_open(error)  # so the block's __exit__ is not run
            raise

    def _line_runs(self, frame: FrameType, line: int) -> None:
        if self.line(frame, self.role(frame.f_code), line):
            self._is_cold(frame)

    def _is_cold(self, frame: FrameType) -> None:
        events = monitoring.events
        ends = events.PY_RETURN | events.PY_YIELD if self.is_of_block(frame) else 0
        monitoring.set_local_events(self._tool, frame.f_code, ends)

    def warmed(self, frames: list[FrameType]) -> None:
        """As :meth:`BaseTracer.warmed`; that they begin need not be told."""
        for frame in frames:
            self._add(frame.f_code, has_lines=True)

    @autograd.never_compiled
    def _returned(self, code: CodeType, offset: int, value: Any) -> None:
        frame = sys._getframe(1)
        if self._rests(frame):
            return
        with at_work:
            self._guarded(lambda: self._left(frame, value, True))
            if self.is_first_thread:
                self._returned_from = frame
        if self.is_first_thread:
            self._returned_from = None
        if frame is self.first:
            self.left_open(None)

    @autograd.never_compiled
    def _unwound(self, code: CodeType, offset: int, error: BaseException) -> None:
        frame = sys._getframe(1)
        if code in self._codes and not self._rests(frame):
            if frame is not self._returned_from:
                self._guarded(lambda: self._left(frame, None, False, error))
            if self.is_first_thread:
                self._returned_from = None
            if frame is self.first:
                self.left_open(error)
        elif (
            self.first is not None
            and frame.f_back is self.first
            and _opens_or_closes(code)
            and frames.is_at_beginning(code, offset)  # else it has raised itself
        ):
            self.left_open(error)  # a signal came in its first instruction

    @autograd.never_compiled
    def _rests(self, frame: FrameType) -> bool:
        """Whether the event of this frame's end is not to be told."""
        if self.resting is frame:
            self.resting = None
        return self.resting is not None

    def _left(
        self, frame: FrameType, value: Any, is_known: bool, error: BaseException | None = None
    ) -> None:
        watcher = self.role(frame.f_code).watcher
        if watcher is not None:
            watcher.left(frame, value, is_known)
            self.watched(frame)
        if self.is_line_frame(frame):
            if error is not None:
                self.lines.raised(frame, error)
            role = self.role(frame.f_code)
            if self.line_left(frame, role, not is_known, value) and not self.is_of_block(frame):
                self._is_cold(frame)

    @autograd.never_compiled
    def _handled(self, code: CodeType, offset: int, error: BaseException) -> None:
        if isinstance(error, RecursionError):
            return  # the recorder gets one, too, where it looks, and would look at its own
        traceback = error.__traceback__
        if traceback is not None and traceback.tb_next is None and not self._has_lines(code):
            return  # as most of them are, there is nothing to clean and no line to tell of
        if self.resting is not None:
            return
        frame = sys._getframe(1)
        self._guarded(lambda: self._clean(frame, error))

    @autograd.never_compiled
    def _has_lines(self, code: CodeType) -> bool:
        """Whether lines of code are told, or it is that of the recorded block."""
        is_block = self.first is not None and self.first.f_code is code
        return is_block or (self.role(code).has_lines and id(code) not in self.lines.cold)

    def _clean(self, frame: FrameType, error: BaseException) -> None:
        traceback = error.__traceback__
        frames.clean(traceback)
        if self.is_line_frame(frame) and traceback is not None:
            self.lines.raised(frame, error, traceback.tb_lineno)


def _opens_or_closes(code: CodeType) -> bool:
    """Whether a function of the recorder's begins or ends the recorded block."""
    return code.co_name in ("__enter__", "__exit__") and frames.is_own(code)
