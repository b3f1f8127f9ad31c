"""Python's garbage collector, while many objects are made that stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep Python's garbage collector from running.

    Many small objects that stay would set it off again and again, and each time it looks at all of
    them. They still count, so the next collection comes earlier than it would have.

    Examples:
        >>> with no_collection():
        ...     gc.isenabled()
        False
    """
    if not gc.isenabled():
        yield
        return
    try:  # from before it is off: a Ctrl-C may come in between
        gc.disable()
        yield
    finally:
        gc.enable()
