"""Keeps Ctrl-C, and what other signals raise, out of places that cannot pass it on.

NOTE [Signals while recording]
A handler of a signal raises wherever Python happens to be. An error raised inside a trace
function on the level of C would be lost, and one raised while the recorder switches something
off or takes itself away would leave half of it behind. There a signal is sent again a little
later, when the user's own code runs; everywhere else it is handled at once, as without a
recording.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from gradviz.capture.user_code import RUNS_USER_CODE

_LATER: Final = 0.002
"""Seconds after which a signal is sent again."""
_OWN: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def is_at_work(frame: FrameType | None) -> bool:
    """Whether the recorder is at work, not code of the user's that it runs."""
    while frame is not None and frame.f_code.co_filename == contextlib.__file__:
        frame = frame.f_back
    innermost = True
    while frame is not None:
        passes = frame.f_code in RUNS_USER_CODE and not innermost
        if frame.f_code.co_filename.startswith(_OWN) and not passes:
            return True
        innermost = False
        frame = frame.f_back
    return False


class DeferredSignals:
    """Lets signals wait while the recorder is at work."""

    def __init__(self) -> None:
        self._handlers: dict[int, tuple[Any, Any]] = {}

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

    def stop(self) -> None:
        """Put the handlers back, but for those that the code has replaced."""
        for number, (handler, ours) in self._handlers.items():
            if signal.getsignal(number) is ours:
                signal.signal(number, handler)
        self._handlers.clear()

    def _standing_in_for(self, handler: Callable[[int, Any], Any]) -> Callable[[int, Any], Any]:
        def handle(number: int, frame: FrameType | None) -> Any:
            if is_at_work(frame):
                _thread.start_new_thread(_send_later, (number,))
                return None
            return handler(number, frame)

        return handle


def _send_later(number: int) -> None:
    time.sleep(_LATER)
    if not callable(signal.getsignal(number)):
        return  # nobody in Python waits for it any more
    if sys.platform == "win32":
        _thread.interrupt_main(signal.Signals(number))
    else:  # a real one, which wakes the main thread from waiting
        signal.pthread_kill(threading.main_thread().ident or 0, number)
