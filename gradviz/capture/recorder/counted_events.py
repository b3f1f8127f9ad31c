"""When two events are the same thing once more, and what both are as one event with a count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from gradviz.model.events import (
    Accumulated,
    BackwardEnded,
    BackwardStarted,
    Clipped,
    Event,
    FirstRead,
    FlagChanged,
    Freed,
    GradModeChanged,
    HookChanged,
    HookFired,
    LoopVariable,
    Made,
    Note,
    Operation,
    OptimizerStepped,
    Raised,
    Refused,
    SchedulerStepped,
    Unregistered,
    Write,
    ZeroedGrad,
)

Identity: TypeAlias = "tuple[object, ...]"
"""Of one kind and with the same identity, events differ in numbers and in what is gone."""
IsAlive: TypeAlias = Callable[[str], bool]
"""Whether a node, tensor or storage, by its id, exists."""
_WORDS: Final[dict[type[Event], tuple[str, ...]]] = {
    Operation: ("name", "position", "recorded", "reason", "recomputed", "module"),
    Write: ("by", "name", "through", "agent", "position", "buffer_of"),
    FlagChanged: ("flag", "before", "after"),
    GradModeChanged: ("before", "after"),
    LoopVariable: ("name",),
    HookChanged: ("hook", "registered"),
    HookFired: ("hook", "raised"),
    BackwardStarted: ("retain_graph", "create_graph", "accumulates", "position"),
    BackwardEnded: ("raised",),
    Accumulated: ("retained",),
    Freed: ("slots",),
    OptimizerStepped: ("name", "position"),
    ZeroedGrad: ("name", "set_to_none"),
    Clipped: ("name", "only_measures"),
    SchedulerStepped: ("name", "has_stepped"),
    Unregistered: ("module", "type", "attribute", "is_tensor"),
    Made: (),
    FirstRead: (),
    Refused: ("name", "type", "module", "position"),
    Raised: ("type", "message"),
    Note: ("about", "text"),
}
"""Fields by which events of a kind are told apart. Kinds that are not listed say what a node or
tensor of one step was like; the rows and the order of the nodes have it."""
_IDS: Final[dict[type[Event], tuple[str, ...]]] = {
    Write: ("storage", "grad_of"),
    FlagChanged: ("tensor",),
    HookChanged: ("tensor", "node"),
    HookFired: ("tensor", "node"),
    BackwardStarted: ("inputs",),
    Accumulated: ("tensor",),
    Freed: ("node",),
    OptimizerStepped: ("updated", "skipped", "parameters"),
    ZeroedGrad: ("tensors",),
    Clipped: ("tensors", "without"),
    SchedulerStepped: ("parameters",),
    Unregistered: ("tensors",),
    Made: ("tensors",),
    FirstRead: ("nodes",),
}
"""Fields that name nodes, tensors and storages: what is gone is told apart no longer."""


def identity(event: Event, is_alive: IsAlive) -> Identity | None:
    """By what an event is told apart from others; ``None`` if it is not counted.

    Args:
        event: The event.
        is_alive: Whether what it names exists.

    Examples:
        >>> identity(Freed("n3", ("self",), 8), lambda key: key == "n3")
        (<class 'gradviz.model.events.Freed'>, ('self',), 'n3')
        >>> identity(Freed("n4", ("self",), 8), lambda key: key == "n3")
        (<class 'gradviz.model.events.Freed'>, ('self',), None)
    """
    kind = type(event)
    if kind not in _WORDS:
        return None
    words = tuple(getattr(event, field) for field in _WORDS[kind])
    return kind, *words, *(_living(getattr(event, field), is_alive) for field in _IDS.get(kind, ()))


def _living(key: str | tuple[str, ...] | None, is_alive: IsAlive) -> object:
    if isinstance(key, tuple):
        return tuple(one for one in key if is_alive(one))
    return key if key is None or is_alive(key) else None


def merged(first: Event, last: Event) -> Event:
    """Two events with the same identity as one; see :attr:`~gradviz.model.events.Event.times`.

    Examples:
        >>> first, last = Freed("n3", ("self",), 8), Freed("n9", ("self",), 4)
        >>> merged(first, last)
        Freed(times=2, node='n9', slots=('self',), nbytes=12, backward=None)
    """
    times = first.times + last.times
    if isinstance(first, Write) and isinstance(last, Write):
        return replace(last, times=times, before=first.before)
    if isinstance(first, Accumulated) and isinstance(last, Accumulated):
        return replace(last, times=times, before=first.before)
    if isinstance(first, Freed) and isinstance(last, Freed):
        return replace(last, times=times, nbytes=first.nbytes + last.nbytes)
    if isinstance(first, BackwardEnded) and isinstance(last, BackwardEnded):
        return replace(last, times=times, nodes=first.nodes + last.nodes)
    return replace(last, times=times)


class CountedEvents:
    """Events, each once with a count."""

    def __init__(self) -> None:
        self._events: dict[Identity, Event] = {}

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        """In the order in which each happened first."""
        return iter(self._events.values())

    def add(self, events: Iterable[Event], is_alive: IsAlive = bool) -> None:
        """Count further ones, the oldest first; by default all that they name exists."""
        for event in events:
            key = identity(event, is_alive)
            if key is not None:
                before = self._events.get(key)
                self._events[key] = event if before is None else merged(before, event)

    def compact(self, is_alive: IsAlive) -> None:
        """Tell apart no longer what no longer exists."""
        events, self._events = self._events, {}
        self.add(events.values(), is_alive)
