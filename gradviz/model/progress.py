"""How far work is that takes long, shown to a person who waits for it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol, TextIO, TypeVar

from gradviz.model.presentation import in_use

AFTER: Final = 2.0
"""Seconds of work after which its progress is shown."""
EVERY: Final = 0.25
"""Seconds between two lines."""
STRIDE: Final = 256
"""After so many things the clock is read."""
Thing = TypeVar("Thing")


class ProgressDisplay(Protocol):
    """Where progress is shown."""

    def show(self, text: str) -> None:
        """Show a line in place of the one before."""

    def end(self) -> None:
        """Remove the line."""


class Terminal:
    """The last line of a terminal.

    Args:
        stream: The terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, text: str) -> None:
        """Show a line in place of the one before."""
        self._stream.write(f"\r\x1b[2K{text}")
        self._stream.flush()

    def end(self) -> None:
        """Remove the line."""
        self._stream.write("\r\x1b[2K")
        self._stream.flush()


def terminal() -> Terminal | None:
    """The terminal that stderr is, ``None`` if it is none."""
    stream = sys.stderr
    return Terminal(stream) if stream is not None and stream.isatty() else None


class Work:
    """One piece of work that a person waits for.

    Args:
        name: What was asked for: ``"snapshot"``.
        clock: Seconds.
        display_of: Where progress is shown, ``None`` for nowhere; asked once, when it is needed.
        is_alone: Whether nothing else writes to the terminal meanwhile, as code that is recorded
            may do: a line in between would disturb that.
    """

    def __init__(
        self,
        name: str,
        clock: Callable[[], float] = time.monotonic,
        display_of: Callable[[], ProgressDisplay | None] | None = None,
        is_alone: bool = True,
    ) -> None:
        self.name, self._clock = name, clock
        self._display_of = display_of or (lambda: in_use().progress_display(is_alone))
        self._display: ProgressDisplay | None = None
        self._next = clock() + AFTER
        self._is_shown = False

    def at(self, what: str, done: int, total: int = 0) -> None:
        """Say how far it is, which is shown if it is time."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + EVERY
        if not self._is_shown:
            self._is_shown = True
            self._display = self._display_of()
        if self._display is not None:
            count = f"{done:,} of {total:,}" if total else f"{done:,}"
            so_far = "" if total else " so far"
            self._display.show(f"gradviz {self.name}: {count} {what}{so_far}")

    def counted(
        self, things: Iterable[Thing], what: str, total: int = 0, stride: int = STRIDE
    ) -> Iterator[Thing]:
        """Things, and how many of them have been gone through."""
        for done, thing in enumerate(things):
            if done % stride == 0:
                self.at(what, done, total)
            yield thing

    def end(self) -> None:
        """Remove what is shown; more than once does no harm."""
        if self._display is not None:
            self._display.end()
            self._display = None


_work: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def working(name: str, work: Callable[[str], Work] = Work) -> Iterator[None]:
    """What runs inside is one piece of work: its progress is shown once it takes long.

    Work inside other work is a part of that.

    Args:
        name: What was asked for: ``"snapshot"``.
        work: Makes it.

    Examples:
        >>> with working("snapshot"):
        ...     sum(counted(range(10), "nodes read"))
        45
    """
    if _work.get() is not None:
        yield
        return
    one = work(name)

    def end() -> None:
        _work.set(None)
        one.end()

    try:
        try:  # from before it is set: a Ctrl-C may come in between
            _work.set(one)
            yield
        finally:
            end()
    finally:  # once more: a Ctrl-C may have come while it ended
        end()


def asked_for(otherwise: str) -> str:
    """What was asked for, by the name of the work that runs.

    Args:
        otherwise: The name where none runs.
    """
    work = _work.get()
    return otherwise if work is None else work.name


def is_running() -> bool:
    """Whether work runs in this thread."""
    return _work.get() is not None


def at(what: str, done: int, total: int = 0) -> None:
    """Say how far the work is that runs, if one does.

    Args:
        what: What is counted: ``"nodes read"``.
        done: How many there are by now.
        total: How many there will be, 0 where that is not known.
    """
    if (work := _work.get()) is not None:
        work.at(what, done, total)


def counted(
    things: Iterable[Thing], what: str, total: int = 0, stride: int = STRIDE
) -> Iterable[Thing]:
    """Things, of which the work that runs says how many it has gone through.

    Args:
        things: Any.
        what: As for :func:`at`.
        total: As for :func:`at`.
        stride: After how many of them the clock is read; 1 for those that take long.
    """
    work = _work.get()
    return things if work is None else work.counted(things, what, total, stride)
