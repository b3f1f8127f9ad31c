"""Runs operations of gradviz's own where they take no sequence number of the caller's."""

from __future__ import annotations

import _thread
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def in_own_thread(compute: Callable[[], Result]) -> Result:
    """What a function returns or raises, run in a thread of its own while this one waits.

    So its operations take no sequence number of the caller's (F1.08), and no mode and no
    recording of the caller's sees them. Unlike ``threading.Thread``, this counts no thread and
    calls no profiler of the user's.
    """
    found: list[Result] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(compute())
        except BaseException as error:
            raised.append(error)
        finally:
            done.release()

    done = _thread.allocate_lock()
    done.acquire()
    _thread.start_new_thread(run, ())
    done.acquire()
    if raised:
        raise raised.pop()
    return found.pop()
