"""Takes the mode that sees calls of torch off while a function runs, and puts it on again."""

from __future__ import annotations

from types import FrameType

from torch.overrides import TorchFunctionMode

from gradviz.capture import autograd


class RestingMode:
    """A mode that is off while functions run that it must not, or need not, see inside of.

    Args:
        mode: The mode.
    """

    def __init__(self, mode: TorchFunctionMode) -> None:
        self._mode = mode
        self._places: list[tuple[FrameType, int | None]] = []

    def begins(self, frame: FrameType) -> None:
        """Take the mode off until this frame ends."""
        self._places.append((frame, autograd.take_mode_off(self._mode)))

    def ends(self, frame: FrameType) -> None:
        """Put the mode on again where it was, if it is off for this frame."""
        if not any(entered is frame for entered, _ in self._places):
            return
        while self._places:
            entered, place = self._places.pop()
            if place is not None:
                autograd.put_mode_on(self._mode, place)
            if entered is frame:
                return
