"""Work in pieces, so that whoever waits can do something else in between: a generator that yields
after each piece and returns what was made."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

Made = TypeVar("Made")


def completed(work: Generator[None, None, Made]) -> Made:
    """What work in pieces makes, all pieces at once.

    Examples:
        >>> def work():
        ...     yield
        ...     return 2
        >>> completed(work())
        2
    """
    while True:
        try:
            next(work)
        except StopIteration as end:
            made: Made = end.value
            return made
