"""Keeps Ctrl-C, and what other signals raise, out of places that cannot pass it on.

NOTE [Signals while recording]
A handler of a signal raises wherever Python happens to be. An error raised inside a trace
function on the level of C would be lost, and one raised while the recorder switches something
off or takes itself away would leave half of it behind. There a signal waits: it is handled where
the recorder next hands over to the user's code and can raise, as in a hook of its own and in a mode
(:func:`handle_signals`), or is sent again a little later, when the user's own code runs. Everywhere
else it is handled at once, as without a recording.

That is so with a trace function (Python 3.11), which stands anywhere in the stack. A callback of
``sys.monitoring``, a mode of torch and a hook can raise. So from Python 3.12 the handlers are the
user's own all through the recorded code: only while the recorder is at work, in
``with at_work``, do others stand in for them, and what has arrived is handled when that ends,
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


class _AtWork:
    """The recorder is at work in the block, in this thread alone.

    Other threads that run what is recorded, as the engine's do, wait until it ends: events and
    rows are complete before the next are written. From Python 3.12 signals wait too, and are
    handled at its end. Blocks may be nested; nothing in one may wait for another thread.
    """

    def __init__(self) -> None:
        self._alone = threading.RLock()
        self._numbers = tuple(map(int, signal.valid_signals())) if _CAN_RAISE else ()
        self._depth = 0
        self._handlers: list[tuple[int, Any]] = []
        self._arrived: list[int] = []

    def __enter__(self) -> None:
        is_main = self._holds_signals()
        if is_main and not self._depth:
            self._hold()
        try:
            self._alone.acquire()
        except BaseException:  # the stack is used up
            if is_main and not self._depth:
                self._put_back()
            raise
        if is_main:
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._alone.release()
        if self._holds_signals():
            if self._depth == 1:
                self._put_back()
            else:
                self._depth -= 1

    def _holds_signals(self) -> bool:
        """Whether this thread is the one in which signals are handled."""
        return _CAN_RAISE and threading.get_ident() == threading.main_thread().ident

    def _hold(self) -> None:
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


at_work: Final = _AtWork()
"""The recorder is at work in this block, and what is recorded is not."""


_waiting: Final[list[tuple[int, Callable[[int, Any], Any]]]] = []
"""Signals that came while the recorder was at work, with their handlers."""


def handle_signals() -> None:
    """Handle the signals that wait, from a place where what they raise reaches the user's code."""
    if _waiting and threading.get_ident() == threading.main_thread().ident:
        number, handler = _waiting.pop(0)
        handler(number, sys._getframe(1))


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
                _waiting.append((number, handler))
                _thread.start_new_thread(_send_later, (_waiting[-1],))
                return None
            return handler(number, frame)

        return handle


def _send_later(signal_and_handler: tuple[int, Callable[[int, Any], Any]]) -> None:
    time.sleep(_LATER)
    try:
        _waiting.remove(signal_and_handler)
    except ValueError:  # it was handled
        return
    number = signal_and_handler[0]
    if not callable(signal.getsignal(number)):
        return  # nobody in Python waits for it any more
    if sys.platform == "win32":
        _thread.interrupt_main(signal.Signals(number))
    else:  # a real one, which wakes the main thread from waiting
        signal.pthread_kill(threading.main_thread().ident or 0, number)
