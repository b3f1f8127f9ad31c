"""Which backward freed what a node had saved."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gradviz.model.events import BackwardEnded, BackwardStarted, Freed, NodeRan
from gradviz.model.explanation import CodeLine
from gradviz.model.history import History
from gradviz.model.reachability import entries, reachable


@dataclass(frozen=True, slots=True)
class EarlierBackward:
    """The backward that freed it."""

    number: int
    since: int
    """Step at which it started."""
    step: int
    """Step at which it had ended."""
    started: BackwardStarted
    at: CodeLine | None


def freed_by(node: str, history: History, until: int) -> EarlierBackward | None:
    """The backward that freed what a node had saved, if that is known.

    Args:
        node: Id of the node.
        history: The recording.
        until: The last step that counts.
    """
    freed = [step for step, event in history.events(Freed, until) if event.node == node]
    number = None if not freed else history.recording.records[freed[-1]].backward
    if number is None:
        number = _would_have_freed(node, history, until)
    started = [(s, e) for s, e in history.events(BackwardStarted, until) if e.number == number]
    if not started:
        return None
    since, event = started[0]
    ended = [s for s, e in history.events(BackwardEnded, until) if e.number == number]
    step = ended[0] if ended else since
    line = None if history.is_summed_up(since) else history.line(since)
    return EarlierBackward(event.number, since, step, event, line and replace(line, step=step))


def _would_have_freed(node: str, history: History, until: int) -> int | None:
    """The one backward that was not followed node by node and came to the node."""
    followed = {event.backward for _, event in history.events(NodeRan, until)}
    found = [
        event.number
        for _, event in history.events(BackwardStarted, until)
        if not event.retain_graph
        and not event.inputs
        and event.number not in followed
        and node in _behind(event, history, until)
    ]
    return found[0] if len(found) == 1 else None


def _behind(started: BackwardStarted, history: History, until: int) -> list[str]:
    """Nodes that a backward comes to."""
    roots = (key for key, _ in started.roots)
    return reachable(roots, lambda key: entries(history.node(key, until)))
