"""Keeps the mode out of calls of compiled functions, and out of what fake tensors are made by."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any

from gradviz.capture import autograd
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.resting_mode import RestingMode


class CompiledCalls(Observer):
    """Takes the mode that sees operations off while a compiled function runs.

    The compiler would follow calls into the mode, and compile anew once it is gone. So nothing
    is recorded inside a compiled function; the node it leaves is in the graph. Where operations
    run on tensors without memory, what works out their sizes is no part of the recorded code.

    Args:
        resting: The mode that is taken off.
        observer: Notified when the mode was taken off.
    """

    rests = True

    def __init__(self, resting: RestingMode, observer: Observer) -> None:
        self._resting = resting
        self._observer = observer

    def watches(self, code: CodeType) -> bool:
        """Whether a call of a compiled function, or one for fake tensors, runs in this code."""
        return autograd.is_compiled_call(code) or autograd.is_fake_dispatch(code)

    def entered(self, frame: FrameType) -> None:
        """Take the mode off while this frame runs."""
        self._resting.begins(frame)
        if not autograd.is_fake_dispatch(frame.f_code):
            self.hides()

    def hides(self) -> None:
        """Something runs of which the mode does not see the calls."""
        self._observer.calls_hidden()

    def left(self, frame: FrameType, value: Any = None, is_known: bool = True) -> None:
        """Put it on again."""
        self._resting.ends(frame)
