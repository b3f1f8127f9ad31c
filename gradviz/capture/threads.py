"""Read saved tensors only while no other thread runs backward on them.

See NOTE [Backward in another thread] in :mod:`gradviz.capture.autograd.engine_patch`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gradviz.capture import autograd
from gradviz.model import GraphBusyError


@contextmanager
def undisturbed(place: dict[Any, int]) -> Iterator[None]:
    """Keep other threads from freeing what is read in the block.

    Args:
        place: The nodes that are read.

    Raises:
        GraphBusyError: If another thread runs backward over one of them already.
    """
    if not autograd.other_frames():
        yield
        return
    with autograd.backwards_wait():
        _refuse_if_busy(place)
        yield


def _refuse_if_busy(place: dict[Any, int]) -> None:
    unvisited = autograd.roots_of_running_backwards()
    seen: set[Any] = set()
    while unvisited:
        node = unvisited.pop()
        if node in place:
            raise GraphBusyError(
                "another thread is running backward() on this graph now. Backward frees saved "
                "tensors without a lock, so reading them at the same time could crash Python. "
                "Take the snapshot before that backward starts, or after it has returned: "
                "thread.join(); graph = gradviz.snapshot(loss)"
            )
        if node not in seen:
            seen.add(node)
            unvisited.extend(n for n, _ in node.next_functions if n is not None)
