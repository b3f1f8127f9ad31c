"""What all ways of tracing share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

from gradviz.capture import autograd
from gradviz.capture.recorder import frames
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.recorder.observers.observer import Observer, Observers
from gradviz.capture.stacks import stack_of
from gradviz.model.events import Note


class CodeRole(NamedTuple):
    """What a code object is to the recording."""

    has_lines: bool = False
    """Whether its lines are told."""
    watcher: Observer | None = None
    """Who is told when it begins and ends."""


NO_ROLE: Final = CodeRole()


class BaseTracer:
    """What all ways of tracing share.

    Args:
        lines: Is told of lines.
        observers: Are told when functions begin and end.
        first: Frame whose lines are told, whatever its code is.
    """

    note: Note | None = None
    """What the reader of the recording is to know about its lines."""

    def __init__(self, lines: LineEvents, observers: Observers, first: FrameType | None) -> None:
        self.lines = lines
        self.observers = observers
        self.first = first
        self.thread = threading.get_ident()
        self._roles: dict[int, tuple[CodeType, CodeRole]] = {}
        """By ``id()``: a code object's own hash goes through its constants."""
        self._resting: dict[int, FrameType] = {}
        self.left_open: Callable[[BaseException | None], object] = _nothing
        """Is called when the frame of a block is left and the block's ``__exit__`` was not run.

        Python leaves it out where a debugger's trace function, or a signal, raises just before.
        """

    @property
    def is_first_thread(self) -> bool:
        """Whether this is the thread in which the recording was started."""
        return threading.get_ident() == self.thread

    @property
    def is_observed(self) -> bool:
        """Whether this thread is that one, or works for it: NOTE [Threads of the engine]."""
        return threading.get_ident() == self.thread or autograd.in_recording()

    @property
    def resting(self) -> FrameType | None:
        """Frame that must return before anything more of this thread is told."""
        return self._resting.get(threading.get_ident())

    @resting.setter
    def resting(self, frame: FrameType | None) -> None:
        if frame is None:
            self._resting.pop(threading.get_ident(), None)
        else:
            self._resting[threading.get_ident()] = frame

    def backward_begins(self) -> None:
        """A backward is about to run, part of it perhaps on threads of the engine."""

    def backward_ended(self) -> None:
        """It has ended, and no other of the recording runs."""

    def role(self, code: CodeType) -> CodeRole:
        """Role of a code object, asked for once."""
        found = self._roles.get(id(code))
        if found is None:
            found = self._roles[id(code)] = code, self._role(code)
        return found[1]

    def role_changed(self, code: CodeType) -> None:
        """A function has become a hook: what it is to the recording is asked again."""
        self._roles.pop(id(code), None)
        self.lines.cold.pop(id(code), None)

    def _role(self, code: CodeType) -> CodeRole:
        if code.co_name == frames.NAME:
            return NO_ROLE
        has_lines, watcher = self.lines.has(code), self.observers.watcher(code)
        return CodeRole(has_lines, watcher) if has_lines or watcher is not None else NO_ROLE

    def is_line_frame(self, frame: FrameType) -> bool:
        """Whether the lines of a frame are told."""
        return frame is self.first or self.role(frame.f_code).has_lines

    def line(self, frame: FrameType, role: CodeRole, line: int) -> bool:
        """A line of a followed frame is about to run; whether its code is cold from here on."""
        lines = self.lines
        lines.line_event(frame, line)
        return self._cools(frame, role)

    def line_left(self, frame: FrameType, role: CodeRole, failed: bool, value: Any) -> bool:
        """A followed frame is left; whether its code is cold from here on."""
        self.lines.left(frame, failed, value)
        return self._cools(frame, role)

    def _cools(self, frame: FrameType, role: CodeRole) -> bool:
        is_cold = id(frame.f_code) in self.lines.cold
        if not is_cold and role.watcher is None and self.lines.is_quiet(frame):
            self.lines.cool(frame)
            return True
        return is_cold

    def called_from(self, frame: FrameType, is_read: bool = False) -> None:
        """A function of torch is about to be called: what runs is warm, NOTE [Cold code].

        Args:
            frame: Calls it.
            is_read: Whether an attribute is read, which makes and changes nothing.
        """
        if is_read or not (self.lines.has_cold and self.is_first_thread):
            return
        base = self.lines.base
        chain = [f for f in self._up_to_block(frame) if f is base or self.is_line_frame(f)]
        if chain and not {id(one.f_code) for one in chain}.isdisjoint(self.lines.cold):
            with autograd.unseen():
                self.lines.warm(chain[::-1])
            self.warmed(chain)

    def _up_to_block(self, frame: FrameType) -> list[FrameType]:
        """A frame and those around it, up to the block's; none if the block does not run it."""
        found = []
        for one in stack_of(frame):
            found.append(one)
            if one is self.lines.base:
                return found
        return []

    def is_of_block(self, frame: FrameType) -> bool:
        """Whether a frame runs the code of the block or cell."""
        return self.lines.base is not None and frame.f_code is self.lines.base.f_code

    def watched(self, frame: FrameType) -> None:
        """An observer was told of a function; what it has noted is of the line that called."""
        if self.lines.has_cold and self.lines.has_events() and frame.f_back is not None:
            self.called_from(frame.f_back)

    def warmed(self, frames: list[FrameType]) -> None:
        """Lines of these frames are told again."""

    def follow(self, frame: FrameType) -> None:
        """Tell of the line that a call comes from, unless it was told."""
        inner = next(filter(self.is_line_frame, stack_of(frame)), None)
        if inner is not None:
            self.lines.called_from(inner)


def _nothing(_: BaseException | None) -> None:
    pass
