"""Read saved tensors only while no backward that runs beside could free them.

See NOTE [Backward in another thread] and NOTE [Threads of the engine] in
:mod:`gradviz.capture.autograd.engine_patch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from gradviz.capture import autograd
from gradviz.model import GraphBusyError

_ANOTHER_THREAD: Final = (
    "another thread is running backward() on this graph now. Backward frees saved "
    "tensors without a lock, so reading them at the same time could crash Python. "
    "Take the snapshot before that backward starts, or after it has returned: "
    "thread.join(); graph = gradviz.snapshot(loss)"
)
_ANOTHER_DEVICE: Final = (
    "backward() is running now, and a part of this graph is on another device ({}) than the node "
    "that called this ({}). torch runs each device in a thread of its own, which frees saved "
    "tensors without a lock, so reading them at the same time could crash Python. "
    "Take the snapshot after backward() has returned: "
    "loss.backward(); graph = gradviz.snapshot(loss)"
)


@contextmanager
def undisturbed(place: dict[Any, int]) -> Iterator[None]:
    """Keep other threads from freeing what is read in the block.

    Args:
        place: The nodes that are read.

    Raises:
        GraphBusyError: If another thread runs backward over one of them already.
    """
    is_inside = autograd.backward_is_running()
    if not is_inside and not autograd.other_frames():
        yield
        return
    with autograd.backwards_wait():
        _refuse_other_threads(place)
        if is_inside:
            _refuse_other_devices(place)
        yield


def _refuse_other_threads(place: dict[Any, int]) -> None:
    here = autograd.current_node() if autograd.is_engine_thread() else None
    reached = [_reached(roots) for roots in autograd.other_backwards()]
    # The backward that a thread of the engine works for leads to the node that it runs.
    own = [nodes for nodes in reached if here in nodes] if here is not None else []
    for nodes in reached:
        if not nodes.isdisjoint(place) and own != [nodes]:
            raise GraphBusyError(_ANOTHER_THREAD)


def _refuse_other_devices(place: dict[Any, int]) -> None:
    node = autograd.current_node()
    here = None if node is None else autograd.device_of_node(node)
    beside: Any = [n for n in place if autograd.device_of_node(n) not in (here, None)]
    beside = [n for n in beside if not autograd.plan_of(type(n)).is_accumulator]
    if here is not None and beside:
        running = _reached(autograd.own_backwards()).intersection(beside)
        if running:
            devices = sorted({str(autograd.device_of_node(n)) for n in running})
            raise GraphBusyError(_ANOTHER_DEVICE.format(", ".join(devices), here))


def _reached(roots: Iterable[Any]) -> set[Any]:
    seen: set[Any] = set()
    unvisited = list(roots)
    while unvisited:
        node = unvisited.pop()
        if node not in seen:
            seen.add(node)
            unvisited.extend(n for n, _ in node.next_functions if n is not None)
    return seen
