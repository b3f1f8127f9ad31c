"""Which expression of the recorded code has made a call: NOTE [Positions of calls]."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Final

from gradviz.capture import autograd
from gradviz.capture.recorder import frames
from gradviz.capture.recorder.expressions import Expressions
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.model.events import Position

_TRUTH_TESTS: Final = frozenset({"__bool__", "is_nonzero"})
"""Functions of torch that a truth test calls, some of them as part of a comparison."""


class Positions:
    """Tells which expression of the line that runs has made a call.

    Args:
        lines: Tells which line runs, and which code is recorded.
    """

    def __init__(self, lines: LineEvents) -> None:
        self._lines = lines
        self._recorded: dict[int, tuple[CodeType, bool]] = {}
        self._expressions = Expressions()

    def of(self, frame: FrameType | None, name: str) -> Position | None:
        """The expression that makes a call.

        Args:
            frame: The frame that has called a function of torch, if one has.
            name: Name of the function.

        Returns:
            The innermost expression of the line that runs, or ``None`` if it is not known. It is
            not of a lambda of another line of the same text, nor of what runs inside a backward.
        """
        lines = self._lines
        if lines.line is None or name in _TRUTH_TESTS or autograd.backward_is_running():
            return None
        inner: FrameType | None = frame
        while inner is not None:
            if inner is lines.frame or self._has(inner.f_code):
                position = self._expressions.at(inner.f_code, inner.f_lasti)
                if position is None:
                    return None
                found = lines.next_call(inner.f_code.co_filename, position)
                if found is not None or inner is lines.frame or lines.shows(inner.f_code):
                    return found
            inner = inner.f_back
        return None

    def _has(self, code: CodeType) -> bool:
        known = self._recorded.get(id(code))
        if known is None:
            is_recorded = code.co_name != frames.NAME and self._lines.is_recorded(code)
            known = self._recorded[id(code)] = code, is_recorded
        return known[1]
