"""Frames and entries of tracebacks, one after another."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType, TracebackType


def stack_of(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those that have called it, the innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def traceback_entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    """The entries of a traceback, the innermost last."""
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next
