"""Tells of lines by the calls of torch that they make, where nothing else can tell of them.

NOTE [Steps from observed calls]
Where the interpreter's place for a trace function cannot be shared, or has no room, a recording
still sees every call of torch, with the frame and the line that it comes from. So it has steps
for lines that call torch; lines that do not, and when functions begin and end, are not told. The
recording says so in a note. A line that runs again before another does is one step with the run
before, since a line that calls torch twice looks the same.
"""

from __future__ import annotations

from types import FrameType

from gradviz.capture import autograd
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.recorder.observers.observer import Observers
from gradviz.capture.recorder.tracers.base import BaseTracer
from gradviz.model.events import Note


class CallTracer(BaseTracer):
    """Follows lines by observed calls.

    Args:
        lines: Is told of lines.
        observers: Are told when functions begin and end, so never.
        first: Frame whose lines are told, whatever its code is.
        reason: Why lines cannot be traced.
    """

    def __init__(
        self, lines: LineEvents, observers: Observers, first: FrameType | None, reason: str
    ) -> None:
        super().__init__(lines, observers, first)
        self.note = Note(
            "lines from calls",
            f"{reason}, so steps are told by the calls of torch that lines make: lines without "
            "one, passes of a loop over one line, modules, hooks and steps of optimizers are not "
            "told as such, and torch refuses to swap tensors that the recording knows",
        )

    def start(self) -> None:
        """Nothing is switched on."""

    def stop(self) -> None:
        """Hold no frame any more."""
        self.first = None

    def pause(self) -> None:
        """Nothing tells of lines by itself."""

    def resume(self) -> None:
        """Nothing was paused."""

    def called_from(self, frame: FrameType, is_read: bool = False) -> None:
        """A line calls torch."""
        with autograd.unseen():
            self.follow(frame)
