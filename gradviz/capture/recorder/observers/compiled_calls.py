"""Keeps the mode out of calls of compiled functions."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any

from torch.overrides import TorchFunctionMode

from gradviz.capture import autograd
from gradviz.capture.recorder.observers.observer import Observer


class CompiledCalls(Observer):
    """Takes the mode that sees operations off while a compiled function runs.

    The compiler would follow calls into the mode, and compile anew once it is gone. So nothing
    is recorded inside a compiled function; the node it leaves is in the graph.

    Args:
        mode: The mode that is taken off.
        observer: Notified when the mode was taken off.
    """

    rests = True

    def __init__(self, mode: TorchFunctionMode, observer: Observer) -> None:
        self._mode = mode
        self._observer = observer
        self._places: list[tuple[FrameType, int | None]] = []

    def watches(self, code: CodeType) -> bool:
        """Whether a call of a compiled function runs in this code."""
        return autograd.is_compiled_call(code)

    def entered(self, frame: FrameType) -> None:
        """Take the mode off while this frame runs."""
        self._places.append((frame, autograd.take_mode_off(self._mode)))
        self.hides()

    def hides(self) -> None:
        """Something runs of which the mode does not see the calls."""
        self._observer.calls_hidden()

    def left(self, frame: FrameType, value: Any = None, is_known: bool = True) -> None:
        """Put it on again."""
        if not any(entered is frame for entered, _ in self._places):
            return
        while self._places:
            entered, place = self._places.pop()
            if place is not None:
                autograd.put_mode_on(self._mode, place)
            if entered is frame:
                return
