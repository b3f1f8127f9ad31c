"""Keeps Ctrl-C, and what other signals raise, out of places that cannot pass it on.

NOTE [Signals while recording]
A handler of a signal runs, and raises, wherever Python happens to be. In the recorder's own code it
would find torch in the recorder's state, an error raised inside a trace function on the level of C
would be lost, and one raised while the recorder switches something off or takes itself away would
leave half of it behind. There a signal waits: it is sent again where the recorder next hands over
to the user's code (:func:`arrived`), or a little later. In the user's own code it is handled at
once, as without a recording; in the hooks that the recorder has laid in torch's engine, where none
of the user's code would run, it is not.

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
from functools import partial
from types import FrameType
from typing import Any, Final, cast

from gradviz.capture.recorder.frames import is_own
from gradviz.capture.stacks import stack_of
from gradviz.capture.user_code import RUNS_USER_CODE

_LATER: Final = 0.002
"""Seconds after which a signal is sent again."""
_MOMENT: Final = 0.1
"""Seconds that a signal waits at most for the handler of another."""
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
        self._keeps = False
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

    def keep_signals(self) -> None:
        """Let what has arrived wait beyond the end of this block, for that of the next."""
        self._keeps = self._holds_signals()

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
        arrived = [] if self._keeps else self._arrived[:]
        del self._arrived[: len(arrived)]
        self._keeps = False
        # All at once: the first may raise.
        deque(map(_thread.interrupt_main, cast("list[signal.Signals]", arrived)), maxlen=0)


at_work: Final = _AtWork()
"""The recorder is at work in this block, and what is recorded is not."""


waiting: Final[dict[int, bool]] = {}
"""Signals that came while the recorder was at work, and whether they still wait."""
_busy_until = 0.0
"""When the next handler may be called."""
send_again: Final[Callable[[int], None]] = cast("Any", _thread.interrupt_main)


def arrived() -> list[int]:
    """Signals that wait, to be sent again where the recorder hands over to the user's code.

    The place says ``[*map(send_again, arrived())]``: Python looks for signals after every call,
    and when a function begins, but not after that. So what looks next is the user's own code.
    """
    is_free = time.perf_counter() >= _busy_until
    numbers = [number for number, waits in list(waiting.items()) if waits and is_free]
    waiting.update(dict.fromkeys(numbers, False))
    return numbers


_set: Final[Callable[[int, Any], Any]] = _signal.signal
_get: Final[Callable[[int], Any]] = _signal.getsignal
"""Python's own, in C."""


class DeferredSignals:
    """Lets signals wait while the recorder is at work, where it cannot raise what they raise.

    It stands in for the handlers that are written in Python, and for the functions in C that set
    them and ask for them, which :mod:`signal` calls: those that the recorded code sets wait too,
    and that code is told of its own.
    """

    def start(self) -> None:
        """Stand in for them, unless another recording does."""
        is_main = threading.current_thread() is threading.main_thread()
        if _CAN_RAISE or not is_main or _signal.signal is not _set:
            return
        _signal.signal, _signal.getsignal = self.signal, self.getsignal
        for number in _signal.valid_signals():
            handler = _get(number)
            if callable(handler):
                self.signal(number, handler)

    def stop(self) -> None:
        """Put all back."""
        if _signal.signal != self.signal:
            return
        try:
            for number in _signal.valid_signals():
                handler = _get(number)
                if handler is not _own(handler):
                    _set(number, _own(handler))
            _signal.signal, _signal.getsignal = _set, _get
        except BaseException:  # one that is back already was called
            self.stop()
            raise

    def signal(self, number: int, handler: Any) -> Any:
        """What ``signal.signal`` of the recorded code does."""
        stands_in = partial(_handle, handler) if callable(handler) else handler
        return _own(_set(number, stands_in))

    def getsignal(self, number: int) -> Any:
        """What ``signal.getsignal`` of the recorded code gives."""
        return _own(_get(number))


def _own(handler: Any) -> Any:
    """The user's handler, which another may stand in for."""
    is_ours = isinstance(handler, partial) and handler.func is _handle
    return handler.args[0] if is_ours else handler


def _handle(handler: Callable[[int, Any], Any], number: int, frame: FrameType | None) -> Any:
    """Call a handler, unless the recorder is at work, or another handler was called just now.

    While it is recorded one takes many times as long, and a timer that calls it would leave the
    program no time. So the next waits as long as it took, and no longer than a moment.
    """
    global _busy_until
    begun = time.perf_counter()
    if begun >= _busy_until and not is_at_work(frame):
        frame = next((one for one in stack_of(frame) if not is_own(one.f_code)), None)
        _busy_until = begun + _MOMENT
        try:
            return handler(number, frame)
        finally:
            ended = time.perf_counter()
            _busy_until = ended + min(ended - begun, _MOMENT)
    is_sent_later = number in waiting
    waiting[number] = True
    if not is_sent_later:
        _thread.start_new_thread(_send_later, (number,))
    return None


def _send_later(number: int) -> None:
    time.sleep(_LATER)
    if not (waiting.pop(number) and callable(signal.getsignal(number))):
        return  # it was handled, or nobody in Python waits for it any more
    if sys.platform == "win32":
        _thread.interrupt_main(signal.Signals(number))
    else:  # a real one, which wakes the main thread from waiting
        signal.pthread_kill(threading.main_thread().ident or 0, number)
