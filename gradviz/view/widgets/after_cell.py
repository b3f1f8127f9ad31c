"""Work that goes on after a cell has ended, in pieces between which the kernel does what else it is
asked for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from inspect import GEN_CLOSED, getgeneratorstate
from typing import Final

from gradviz.model.collector import no_collection

PIECE: Final = 0.03
"""Seconds after which a piece ends with the work it is at."""
PAUSE: Final = 0.01
"""Seconds between two pieces, in which messages are answered."""


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop of the kernel, which goes on after the cell; ``None`` if there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class AfterCell:
    """Work in pieces of at most 50 ms, while no cell runs.

    Args:
        work: What is done, to its end.
        loop: The loop in which it is.
    """

    def __init__(self, work: Generator[None, None, None], loop: asyncio.AbstractEventLoop) -> None:
        self._work, self._loop = work, loop
        self._next = loop.call_later(PAUSE, self._go_on)

    def _go_on(self) -> None:
        end = time.perf_counter() + PIECE
        with no_collection():
            for _ in self._work:
                if time.perf_counter() > end:
                    self._next = self._loop.call_later(PAUSE, self._go_on)
                    return

    @property
    def has_ended(self) -> bool:
        """Whether there is nothing left to do, also where it was interrupted or failed."""
        return getgeneratorstate(self._work) == GEN_CLOSED

    def complete(self) -> None:
        """Do what is left at once."""
        self._next.cancel()
        with no_collection():
            for _ in self._work:
                pass

    def cancel(self) -> None:
        """Do no more of it."""
        self._next.cancel()
        self._work.close()
