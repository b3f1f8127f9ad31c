"""Keeps Ctrl-C, and what other signals raise, out of places that cannot pass it on.

NOTE [Signals while recording]
A handler of a signal raises wherever Python happens to be. An error raised inside a trace
function on the level of C would be lost, and one raised while the recorder switches something
off or takes itself away would leave half of it behind. There a signal is sent again a little
later, when the user's own code runs; everywhere else it is handled at once, as without a
recording.

That is so with a trace function (Python 3.11), which stands anywhere in the stack. A callback of
``sys.monitoring``, a mode of torch and a hook can raise. So from Python 3.12 the handlers are the
user's own all through the recorded code: only while the recorder is at work, in
``with held_signals``, do others stand in for them, and what has arrived is handled when that ends,
from where it reaches the recorded code at once. What has to be taken away lies in such a block
from before it is made until it is kept where it will be taken away. Nothing may lie between that
is called in the middle of the user's code and cannot raise: callbacks of weak references are
methods in C.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _thread
import contextlib
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any, Final, cast

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


_CAN_RAISE: Final = sys.version_info >= (3, 12)
"""Whether what is raised in a callback for lines and calls reaches the recorded code."""


class _HeldSignals:
    """Lets signals wait for the length of a block, and handles them at its end.

    Blocks may be nested. Other threads than the main one get no signals and pass through.
    """

    def __init__(self) -> None:
        self._numbers = tuple(map(int, signal.valid_signals()))
        self._depth = 0
        self._handlers: list[tuple[int, Any]] = []
        self._arrived: list[int] = []

    def __enter__(self) -> None:
        if threading.get_ident() != threading.main_thread().ident:
            return
        if not self._depth:
            try:
                for number, handler in zip(
                    self._numbers, map(_signal.getsignal, self._numbers), strict=True
                ):
                    if callable(handler):
                        self._handlers.append((number, handler))
                        _signal.signal(number, self._arrives)
            except BaseException:  # a signal came before its handler was exchanged
                self._put_back()
                raise
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        if threading.get_ident() != threading.main_thread().ident:
            return
        if self._depth == 1:
            self._put_back()
        else:
            self._depth -= 1

    def _arrives(self, number: int, _: FrameType | None) -> None:
        self._arrived.append(number)

    def _put_back(self) -> None:
        """Put the handlers back, and have those called whose signals have arrived."""
        try:
            while self._handlers:
                number, handler = self._handlers[-1]
                if _signal.getsignal(number) == self._arrives:
                    _signal.signal(number, handler)
                self._handlers.pop()
            self._depth = 0
        except BaseException:  # one that is back already was called
            self._put_back()
            raise
        arrived, self._arrived = self._arrived, []
        # All at once: the first may raise.
        deque(map(_thread.interrupt_main, cast("list[signal.Signals]", arrived)), maxlen=0)


held_signals: Final[AbstractContextManager[None]] = (
    _HeldSignals() if _CAN_RAISE else contextlib.nullcontext()
)
"""The recorder is at work in this block; see NOTE [Signals while recording]."""


class DeferredSignals:
    """Lets signals wait while the recorder is at work, where it cannot raise what they raise."""

    def __init__(self) -> None:
        self._handlers: dict[int, tuple[Any, Any]] = {}

    def start(self) -> None:
        """Stand in for the handlers that are written in Python."""
        if _CAN_RAISE or threading.current_thread() is not threading.main_thread():
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
