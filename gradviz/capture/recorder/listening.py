"""Who is told of lines and functions, and what both ways of tracing share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Final


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


class BaseTracer:
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
