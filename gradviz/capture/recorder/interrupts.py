"""Keeps Ctrl-C, and what other signals raise, out of places that cannot pass it on.

NOTE [Signals while recording]
A handler of a signal raises wherever Python happens to be. An error raised inside a trace
function on the level of C would be lost, and one raised while the recorder takes itself away
would leave half of it behind. There a signal is sent again a little later, when the user's own
code runs; everywhere else it is handled at once, as without a recording.
"""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Final, TypeVar

from gradviz.capture.autograd.watch import Mark

_LATER: Final = 0.002
"""Seconds after which a signal is sent again."""
_uninterrupted: Final[set[CodeType]] = {Mark.__del__.__code__}
Function = TypeVar("Function", bound=Callable[..., Any])


def uninterrupted(function: Function) -> Function:
    """Let signals wait while a function runs, and what it calls."""
    _uninterrupted.add(function.__code__)
    return function


class Interrupts:
    """Lets signals wait while functions run that are marked with :func:`uninterrupted`."""

    def __init__(self) -> None:
        self._handlers: dict[int, tuple[Any, Any]] = {}

    @uninterrupted
    def start(self) -> None:
        """Stand in for the handlers that are written in Python."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                ours = self._standing_in_for(handler)
                signal.signal(number, ours)
                self._handlers[number] = handler, ours

    @uninterrupted
    def stop(self) -> None:
        """Put the handlers back, but for those that the code has replaced."""
        for number, (handler, ours) in self._handlers.items():
            if signal.getsignal(number) is ours:
                signal.signal(number, handler)
        self._handlers.clear()

    def _standing_in_for(self, handler: Callable[[int, Any], Any]) -> Callable[[int, Any], Any]:
        def handle(number: int, frame: FrameType | None) -> Any:
            at = frame
            while at is not None:
                if at.f_code in _uninterrupted:
                    _thread.start_new_thread(_send_later, (number,))
                    return None
                at = at.f_back
            return handler(number, frame)

        return handle


def _send_later(number: int) -> None:
    time.sleep(_LATER)
    _thread.interrupt_main(signal.Signals(number))
